// RUN: bankwise-opt %s --split-input-file --verify-diagnostics

// -----

// expected-error-re @+1 {{{{un(known|registered)}} dialect}}
"foo.bar"() : () -> ()

// -----

// expected-note @+1 {{prior use here}}
func.func @types(%x: i32) -> i64 {
  return %x : i64 // expected-error {{expects different type than prior uses}}
}
