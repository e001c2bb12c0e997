# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m bankwise.tools.record_pipelines`: records the installed IREE's pipelines anew."""

from __future__ import annotations

import argparse
import sys
from importlib import resources
from pathlib import Path

from ..iree_plugin.atomic_file import OutputError, check_output, write_output
from ..sweep.progress import tracked
from .endings import fail, file_error


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
        check_output(str(output))
        progress = tracked(requests, f"IREE {version}", len(requests), "pipelines")
        recordings = [request.take() for request in progress]
        write_output(str(output), dump_recordings(version, recordings).encode())
    except (OutputError, RecordingError) as error:
        return fail("record_pipelines", str(error))
    except OSError as error:
        return fail("record_pipelines", file_error(error))
    print(f"{len(recordings)} recordings in {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
