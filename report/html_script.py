# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the pages do when a reader clicks: copy a text, and show another phase of an access.

A page is whole without it: buttons and choices are hidden until the script runs. Pictures of other
phases are HTML that Python has drawn, compressed, so that nothing is drawn in two languages.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from html import escape

SCRIPT = """\
const unpack = async (text) => {
  const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
};
const copied = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.body.appendChild(document.createElement("textarea"));
    area.value = text;
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
};
for (const button of document.querySelectorAll("button[data-copy]")) {
  const words = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    button.textContent = (await copied(button.dataset.copy)) ? "copied" : "not copied";
    setTimeout(() => { button.textContent = words; }, 1500);
  });
}
for (const choice of document.querySelectorAll("select[data-pictures]")) {
  if (!("DecompressionStream" in window)) break;
  const label = choice.closest("label");
  const place = label.nextElementSibling;
  const first = place.innerHTML;
  let pictures;
  label.hidden = false;
  choice.addEventListener("change", async () => {
    pictures ??= unpack(choice.dataset.pictures);
    const shown = choice.selectedIndex;
    const all = await pictures;
    if (shown === choice.selectedIndex) place.innerHTML = shown ? all[shown - 1] : first;
  });
}
"""


def copy_button(text: str, what: str) -> str:
    """Returns a button that copies `text`; `what` names it in a few words."""
    return f'<button type="button" data-copy="{escape(text)}" hidden>copy {escape(what)}</button>'


def picture_choice(title: str, words: Sequence[str], pictures: Iterable[str]) -> str:
    """Returns a choice of pictures, to stand in front of the element whose content they replace.

    Args:
        title: what is chosen.
        words: what the first choice is, which is what the element holds, and then the others.
        pictures: the HTML of all choices but the first.
    """
    packed = zlib.compress(json.dumps([*pictures]).encode(), 9)
    options = "".join(f"<option>{escape(each)}</option>" for each in words)
    data = base64.b64encode(packed).decode("ascii")
    return (
        f'<label class="choice" hidden>{escape(title)} '
        f'<select autocomplete="off" data-pictures="{data}">{options}</select></label>'
    )


BANK_VIEW = "the bank of each element"
"""What a picture of the whole tile by bank shows."""


def whole_tile_choice(by_bank: str, by_lane: Sequence[tuple[str, str]]) -> str:
    """Returns a choice of pictures of the whole tile, as `picture_choice` does; none is shown yet.

    Args:
        by_bank: the HTML of the picture with the bank of each element.
        by_lane: the accesses, each with the HTML of the picture with the lane of each word.
    """
    lanes = (f"the lane of each word, {access}" for access, _ in by_lane)
    words = ["not shown", BANK_VIEW, *lanes]
    return picture_choice("the whole tile:", words, [by_bank, *(picture for _, picture in by_lane)])
