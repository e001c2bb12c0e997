# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The signals that end a program, and what the tools say of each."""

import signal

WORDS = {
    signal.SIGHUP: "hung up",
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
}
