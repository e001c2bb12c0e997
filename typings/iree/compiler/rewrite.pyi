# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The bindings are a native module without stubs: every name in it is untyped.
from typing import Any

def __getattr__(name: str) -> Any: ...
