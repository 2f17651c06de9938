#pragma once

namespace localsvm::check {

// Whether the multiply-add of simd.h without hardware for it is std::fma, on random and on hard operands.
bool check_arithmetic();

}  // namespace localsvm::check
