# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m bankwise.tools.record_pipelines`: records the installed IREE's pipelines anew."""

from __future__ import annotations

import argparse
import sys
from importlib import resources
from pathlib import Path

from rich.console import Console
from rich.progress import track


def main() -> int:
    """Records every packaged pipeline and writes the data file of the installed version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "-o", "--output", type=Path, help="data file (default: the package's, for this version)"
    )
    arguments = parser.parse_args()

    from ..iree_plugin.embedding import compiler_version
    from ..iree_plugin.recording import RecordingError, dump_recordings
    from ..iree_plugin.recording_samples import packaged_requests

    version = compiler_version()
    home = resources.files("bankwise.iree_plugin.recordings")
    output = arguments.output or Path(str(home)) / f"{version}.json"
    requests = list(packaged_requests())
    try:
        progress = track(requests, f"IREE {version}", console=Console(stderr=True))
        recordings = [request.take() for request in progress]
        output.write_text(dump_recordings(version, recordings))
    except (RecordingError, OSError) as error:
        print(f"record_pipelines: error: {error}", file=sys.stderr)
        return 1
    print(f"{len(recordings)} recordings in {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
