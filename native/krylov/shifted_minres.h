// MINRES for one shift, from the tridiagonal matrix of a Lanczos process: residual norms and coordinates.
//
//   given     the tridiagonal matrix T of a Krylov space of A and b (alpha on its diagonal, beta beside it), a shift c
//   minimize  || |b| e_1 - (T + c) z ||, T with the row below it: the residual of (A + c) u = b at u = V z
//   result    its norm after every step of the process; z when asked for
//
// One Givens rotation per step makes T + c triangular (Paige, Saunders 1975).  A + c has the same Krylov spaces for all
// c.
#pragma once

#include <cmath>
#include <vector>

namespace localsvm {

// alpha[j] and beta[j] for every step j; beta[0] = |b|, beta[j + 1] couples steps j and j + 1.
struct Tridiagonal {
  std::vector<double> alpha, beta;
  int size() const { return static_cast<int>(alpha.size()); }
};

class ShiftedMinres {
 public:
  ShiftedMinres(double shift, double norm) : shift_(shift), residual_(norm) {}

  // Takes column j of T; columns come in order.
  void advance(const Tridiagonal& T, int j) { next_column(T, j); }
  double residual() const { return std::abs(residual_); }
  double shift() const { return shift_; }

  // z of the first `steps` columns.
  std::vector<double> coordinates(const Tridiagonal& T, int steps) const {
    ShiftedMinres again(shift_, T.beta[0]);
    std::vector<Column> R;
    for (int j = 0; j < steps; ++j) R.push_back(again.next_column(T, j));
    std::vector<double> z(steps);
    for (int j = steps - 1; j >= 0; --j) {
      double rest = R[j].target;
      if (j + 1 < steps) rest -= R[j + 1].above * z[j + 1];
      if (j + 2 < steps) rest -= R[j + 2].top * z[j + 2];
      z[j] = R[j].diagonal > 0 ? rest / R[j].diagonal : 0.0;
    }
    return z;
  }

 private:
  // A column of the triangular matrix, and the right-hand side in the row of its diagonal.
  struct Column {
    double top, above, diagonal, target;
  };

  Column next_column(const Tridiagonal& T, int j) {
    const double beside = j == 0 ? 0.0 : T.beta[j], below = T.beta[j + 1];
    const double turned = before_.cos * beside, center = T.alpha[j] + shift_;
    const double above = last_.cos * turned + last_.sin * center, left = last_.cos * center - last_.sin * turned;
    const double diagonal = std::sqrt(left * left + below * below);
    Column column{before_.sin * beside, above, diagonal, 0};
    before_ = last_;
    last_ = diagonal > 0 ? Rotation{left / diagonal, below / diagonal} : Rotation{1, 0};
    column.target = last_.cos * residual_;
    residual_ *= -last_.sin;
    return column;
  }

  struct Rotation {
    double cos = 1, sin = 0;
  };
  double shift_, residual_;
  Rotation last_, before_;
};

}  // namespace localsvm
