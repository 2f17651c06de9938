#include "krylov/ridge.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "krylov/lanczos.h"

namespace localsvm {

namespace {

constexpr double kRounding = 0x1p-23;  // relative rounding of a product with K
constexpr double kTrusted = 0.5;       // fraction of the tolerated residual that rounding may be without a check
constexpr double kSkippedGap = std::numeric_limits<double>::quiet_NaN();

class RidgeColumn : public SquareColumn {
 public:
  RidgeColumn(const TrainingRows& rows, const float* target, const SquareProblem& problem)
      : rows_(rows),
        target_(target),
        problem_(problem),
        tolerated_(std::sqrt(problem.stop.tolerance * rows.total)),
        s_(rows.ld),
        y_(rows.ld),
        lanczos_(start()) {
    for (double lam : problem.lams)
      shifts_.push_back({ShiftedMinres(rows.shift(lam), lanczos_.matrix().beta[0]), {}, {}});
    check_gaps();
  }

  bool is_done() const override { return n_open_ == 0; }
  Operand operand() override { return {lanczos_.operand(), rows_.fold, y_.data()}; }

  void step() override {
    lanczos_.step(y_.data());
    const int j = lanczos_.matrix().size() - 1;
    for (Shift& shift : shifts_)
      if (!shift.done) shift.minres.advance(lanczos_.matrix(), j);
    check_gaps();
  }

  int n_solved() const override {
    const auto is_open = [](const Shift& shift) { return !shift.done; };
    return static_cast<int>(std::find_if(shifts_.begin(), shifts_.end(), is_open) - shifts_.begin());
  }

  void add_coefficients(int lam, float* beta) const override {
    lanczos_.combine({shifts_[lam].z}, &beta);
    for (int i = 0; i < rows_.n; ++i) beta[i] *= s_[i];
  }

  void end_path(int n_lams) override {
    for (size_t q = n_lams; q < shifts_.size(); ++q)
      shifts_[q] = {shifts_[q].minres, {}, {kSkippedGap, Status::skipped, 0}, true, false};
    n_open_ = 0;
  }

  std::vector<Certificate> finish(const BlockProduct& product, float* const* beta) override;

 private:
  struct Shift {
    ShiftedMinres minres;
    std::vector<double> z;
    Certificate certificate;
    bool done = false;
    bool doubtful = false;
  };

  Lanczos start() {
    Aligned<float> b(rows_.ld);
    for (int i = 0; i < rows_.n; ++i) {
      s_[i] = std::sqrt(rows_.weight[i]);
      b[i] = s_[i] * target_[i];
      largest_ = std::max<double>(largest_, s_[i]);
    }
    return Lanczos(b.data(), s_.data(), rows_.ld, rows_.n_weighted);
  }

  void check_gaps();
  void certify(Shift& shift, bool last) const;
  std::vector<double> most_certain(double shift) const;
  double rounding(const std::vector<double>& z) const;
  double true_gap(const BlockProduct& product, const float* beta, double shift) const;

  const TrainingRows& rows_;
  const float* target_;
  const SquareProblem& problem_;
  const double tolerated_;  // residual norm at the tolerance
  double largest_ = 0;      // of s
  Aligned<float> s_, y_;
  Lanczos lanczos_;
  std::vector<Shift> shifts_;
  int n_open_ = 0;
};

// Ends the shifts that are solved or cannot improve.
void RidgeColumn::check_gaps() {
  const bool last = lanczos_.is_complete() || lanczos_.matrix().size() >= problem_.stop.max_steps;
  n_open_ = 0;
  for (Shift& shift : shifts_) {
    if (!shift.done && (last || shift.minres.residual() <= tolerated_)) certify(shift, last);
    n_open_ += !shift.done;
  }
}

void RidgeColumn::certify(Shift& shift, bool last) const {
  const int steps = lanczos_.matrix().size();
  shift.z = shift.minres.coordinates(lanczos_.matrix(), steps);
  const double hidden = rounding(shift.z), off = shift.minres.residual() + hidden;
  shift.certificate.gap = rows_.total > 0 ? off * off / rows_.total : 0.0;
  shift.certificate.steps = steps;
  shift.doubtful = off > tolerated_ && (lanczos_.is_complete() || hidden > kTrusted * tolerated_);
  shift.done = last || shift.doubtful || off <= tolerated_;
  if (shift.doubtful) shift.z = most_certain(shift.minres.shift());
  if (shift.done && off > tolerated_) shift.certificate.status = Status::max_steps;
}

// If rounding dominates at the end of the space: the coordinates, of all steps so far, with the smallest bound on the
// residual.
std::vector<double> RidgeColumn::most_certain(double shift) const {
  const Tridiagonal& T = lanczos_.matrix();
  ShiftedMinres minres(shift, T.beta[0]);
  std::vector<double> best;
  double lowest = T.beta[0];
  for (int j = 0; j < T.size(); ++j) {
    minres.advance(T, j);
    std::vector<double> z = minres.coordinates(T, j + 1);
    const double off = minres.residual() + rounding(z);
    if (!(off < lowest)) continue;
    lowest = off;
    best = std::move(z);
  }
  return best;
}

// Bound on what the products with K, each summed in float32, can have added to the residual of V z.
double RidgeColumn::rounding(const std::vector<double>& z) const {
  const Tridiagonal& T = lanczos_.matrix();
  double squares = 0, sums = 0;
  for (size_t j = 0; j < z.size(); ++j) {
    squares += z[j] * z[j];
    sums += std::abs(z[j]) * (std::abs(T.alpha[j]) + T.beta[j + 1] + (j > 0 ? T.beta[j] : 0.0));
  }
  return kRounding * (largest_ * std::sqrt(rows_.total * squares) + sums);
}

double RidgeColumn::true_gap(const BlockProduct& product, const float* beta, double shift) const {
  Aligned<double> r(rows_.ld);
  std::copy_n(target_, rows_.n, r.data());
  product.subtract_exactly(beta, r.data());
  double squares = 0;
  for (int i = 0; i < rows_.n; ++i) {
    if (!(s_[i] > 0)) continue;
    const double off = s_[i] * r[i] - shift * beta[i] / s_[i];
    squares += off * off;
  }
  return squares / rows_.total;
}

std::vector<Certificate> RidgeColumn::finish(const BlockProduct& product, float* const* beta) {
  std::vector<std::vector<double>> z;
  for (Shift& shift : shifts_) z.push_back(std::move(shift.z));
  lanczos_.combine(z, beta);
  std::vector<Certificate> certificates;
  for (size_t q = 0; q < shifts_.size(); ++q) {
    for (int i = 0; i < rows_.n; ++i) beta[q][i] *= s_[i];
    Certificate certificate = shifts_[q].certificate;
    if (shifts_[q].doubtful) {
      certificate.gap = true_gap(product, beta[q], shifts_[q].minres.shift());
      certificate.status = certificate.gap <= problem_.stop.tolerance ? Status::converged : Status::precision;
    }
    certificates.push_back(certificate);
  }
  return certificates;
}

}  // namespace

SquareResult solve_ridge(const HalfKernel& kernel, const std::vector<int>& fold_ends, const SquareProblem& problem,
                         int n_threads) {
  return solve_columns(kernel, fold_ends, problem, n_threads, [&](const TrainingRows& rows, const float* target) {
    return std::make_unique<RidgeColumn>(rows, target, problem);
  });
}

}  // namespace localsvm
