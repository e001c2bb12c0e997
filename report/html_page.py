# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The look of HTML pages: colours for light and dark, tables, and figures side by side."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from .html_script import SCRIPT
from .stripes import STRIPE_STYLE

COLOURS = """\
:root { color-scheme: light dark; --ink: #1f2328; --paper: #ffffff; --line: #d1d9e0;
  --soft: #59636e; --head: #f6f8fa; --bad: #b3261e; --good: #1a7f37; --bar: #8c959f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --line: #3d444d;
  --soft: #9da7b1; --head: #151b23; --bad: #ff8a80; --good: #57d175; --bar: #6e7781; } }
"""
"""The colours by name; text in each of them can be read on paper and on head."""

PAGE_STYLE = (
    COLOURS
    + """\
* { box-sizing: border-box; }
body { color: var(--ink); background: var(--paper); margin: 0 auto; padding: 1rem .75rem 3rem;
  max-width: 1400px; font: 15px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.25rem; margin: .2rem 0 .6rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .3rem; overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin: 2.2rem 0 .3rem; border-top: 1px solid var(--line);
  padding-top: .8rem; }
p { margin: .4rem 0; max-width: 60rem; }
a { color: inherit; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
.bad { color: var(--bad); font-weight: 600; } .good { color: var(--good); font-weight: 600; }
.soft { color: var(--soft); }
.number { font-size: 1.15rem; line-height: 1.2; margin: .8rem 0 1rem; }
.number strong { font-size: 3.6rem; font-weight: 700; display: block; line-height: 1.1;
  overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .6rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .5rem; text-align: left;
  vertical-align: top; font-weight: inherit; }
thead th { background: var(--head); font-weight: 600; vertical-align: bottom; }
thead .soft { font-weight: 400; }
@media (max-width: 640px) { table { font-size: .87rem; } th, td { padding: .3rem; } }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; }
.bar { width: 30%; min-width: 4rem; } td.bar { vertical-align: middle; }
td.bar span { display: block; height: .7rem; background: var(--bar); min-width: 1px; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .15rem 1rem;
  margin: .6rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
ul { padding-left: 1.2rem; margin: .4rem 0; }
.wide { overflow-x: auto; }
details { margin: .5rem 0; }
summary { cursor: pointer; padding: .35rem .5rem; background: var(--head);
  border: 1px solid var(--line); border-radius: 6px; overflow-wrap: anywhere; }
details details summary { background: none; border: 0; padding: 0; color: var(--soft); }
:focus-visible { outline: 2px solid var(--good); outline-offset: 2px; }
.pair { display: flex; flex-wrap: wrap; gap: .75rem 12px; }
figure { margin: .5rem 0; flex: 1 1 640px; min-width: 0; }
figcaption { margin-bottom: .3rem; }
figure p { font-size: .9em; color: var(--soft); }
.map { container-type: inline-size; overflow-x: auto; }
.map, .banks { display: flex; flex-wrap: wrap; gap: 6px 0; align-items: flex-start; }
.map svg { flex: none; }
/* Stripes that stand beside each other are one: the labels of the first are those of all. */
@container (min-width: 640px) { .stripe + .stripe { margin-left: -31px; }
  .stripe + .stripe .left { display: none; } }
@container (min-width: 1248px) { .banks + .banks { margin-left: -31px; }
  .banks + .banks .left { display: none; } }
.ramp { display: inline-block; width: 8rem; height: .8rem; vertical-align: middle; }
.legend { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: flex-start; }
.legend figure { flex: 0 0 auto; width: 335px; max-width: 100%; }
.legend dl { flex: 1 1 20rem; font-size: .93em; grid-template-columns: minmax(0, 1fr); }
.legend dt { color: inherit; font-weight: 600; } .legend dd { margin-bottom: .2rem; }
@media (min-width: 640px) {
  .legend dl { grid-template-columns: max-content minmax(0, 1fr); } }
@media (min-width: 1100px) {
  .legend dl { grid-template-columns: repeat(2, max-content minmax(0, 1fr)); } }
button { font: inherit; font-size: .8rem; color: var(--ink); background: var(--head);
  border: 1px solid var(--line); border-radius: 6px; padding: .1rem .5rem; cursor: pointer; }
.choice { display: block; margin: .5rem 0; } .choice[hidden] { display: none; }
select { font: inherit; font-size: .9rem; color: var(--ink); background: var(--paper);
  border: 1px solid var(--line); border-radius: 6px; padding: .1rem .3rem; max-width: 100%; }
.counters code { overflow-wrap: normal; }
section.measured { margin: 2.2rem 0; }
.copies { margin: .8rem 0 1rem; display: flex; flex-wrap: wrap; gap: .4rem; }
footer { color: var(--soft); margin-top: 3rem; font-size: .9em; }
"""
    + STRIPE_STYLE
)


def code(text: str) -> str:
    """Returns text of the IR, of the assembly or of a formula."""
    return f"<code>{escape(text)}</code>"


def headline_number(number: str, what: str, *, is_good: bool) -> Iterator[str]:
    """Yields the one number of a page, and what it counts, both as text."""
    grade = "good" if is_good else "bad"
    yield f'<p class="number"><strong class="{grade}">{escape(number)}</strong>'
    yield f"{escape(what)}</p>"


def html_page(title: str, body: str) -> str:
    """Returns a document with what all pages share; `body` is HTML, `title` is text."""
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{PAGE_STYLE}</style>
</head>
<body>
{body}
<script>
{SCRIPT}</script>
</body>
</html>
"""
