#include "krylov/expectile.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "krylov/lanczos.h"

namespace localsvm {

namespace {

constexpr double kInner = 0.5;         // fraction of the tolerance allowed to the inner equation,
constexpr double kForcing = 0.01;      // or of the current gap, if that is more
constexpr double kProgress = 0.9;      // a step that leaves more of the gap than this made no progress
constexpr int kMaxStalls = 4;          // steps without progress before giving up on float32
constexpr int kHalvings = 30;          // of the line search
constexpr double kRounding = 0x1p-23;  // relative rounding of a product with K
constexpr double kTrusted = 0.05;      // fraction of the tolerated residual that rounding may be without a check

class ExpectileColumn : public SquareColumn {
 public:
  ExpectileColumn(const TrainingRows& rows, const float* target, const SquareProblem& problem, double tau)
      : rows_(rows),
        target_(target),
        problem_(problem),
        above_(tau),
        below_(1 - tau),
        s_(rows.ld),
        y_(rows.ld),
        next_(rows.ld),
        beta_(rows.n),
        f_(rows.n) {
    start_lam();
  }

  bool is_done() const override { return certificates_.size() == problem_.lams.size(); }

  Operand operand() override {
    return {lanczos_ ? lanczos_->operand() : next_.data(), rows_.fold, y_.data()};
  }

  void step() override {
    ++certificate_.steps;
    if (lanczos_) {
      lanczos_->step(y_.data());
      minres_->advance(lanczos_->matrix(), lanczos_->matrix().size() - 1);
      if (is_inner_solved()) propose();
    } else {
      accept();
      check_gap();
    }
  }

  std::vector<Certificate> finish(const BlockProduct& product, float* const* beta) override;

 private:
  double factor(int i, double sign) const { return rows_.weight[i] * (sign > 0 ? above_ : below_); }

  void start_lam();
  void check_gap();
  void start_step();
  bool is_inner_solved() const;
  void propose();
  void accept();
  void end_lam(Status status);
  double gap(double fraction) const;
  double gap_at(int i, double beta, double r) const;
  bool is_doubtful(const std::vector<float>& beta) const;
  void check(const BlockProduct& product, const float* beta, size_t q);
  double slope(double fraction) const;

  const TrainingRows& rows_;
  const float* target_;
  const SquareProblem& problem_;
  const double above_, below_;
  double shift_ = 0;
  Aligned<float> s_, y_, next_;
  std::vector<double> beta_, f_;              // f = K beta
  std::vector<double> beta_step_, f_step_;    // of the proposed step; empty: none
  std::optional<Lanczos> lanczos_;            // while the inner equation is solved
  std::optional<ShiftedMinres> minres_;
  double inner_tolerated_ = 0, lowest_ = 0;
  int n_stalls_ = 0;
  Certificate certificate_;
  std::vector<Certificate> certificates_;
  std::vector<std::vector<float>> solutions_;
};

// Each lam starts from the solution of the last one.
void ExpectileColumn::start_lam() {
  while (!is_done()) {
    shift_ = rows_.shift(problem_.lams[certificates_.size()]);
    certificate_ = Certificate{};
    certificate_.gap = lowest_ = gap(0);
    n_stalls_ = 0;
    if (!(certificate_.gap <= problem_.stop.tolerance) && certificate_.steps < problem_.stop.max_steps) {
      start_step();
      return;
    }
    end_lam(certificate_.gap <= problem_.stop.tolerance ? Status::converged : Status::max_steps);
  }
}

void ExpectileColumn::end_lam(Status status) {
  certificate_.status = status;
  certificates_.push_back(certificate_);
  solutions_.emplace_back(beta_.begin(), beta_.end());
}

// After a step: begins the next step, or the next lam.
void ExpectileColumn::check_gap() {
  certificate_.gap = gap(0);
  n_stalls_ = certificate_.gap < kProgress * lowest_ ? 0 : n_stalls_ + 1;
  lowest_ = std::min(lowest_, certificate_.gap);
  if (certificate_.gap <= problem_.stop.tolerance)
    end_lam(Status::converged);
  else if (n_stalls_ == kMaxStalls)
    end_lam(Status::precision);
  else if (certificate_.steps >= problem_.stop.max_steps)
    end_lam(Status::max_steps);
  else
    return start_step();
  start_lam();
}

// Begins to solve (S K S + c) u = S (y - K beta - c beta / a), S = diag(sqrt a); the Newton step of beta is S u.
void ExpectileColumn::start_step() {
  Aligned<float> b(rows_.ld);
  for (int i = 0; i < rows_.n; ++i) {
    if (!(rows_.weight[i] > 0)) continue;
    const double r = target_[i] - f_[i], a = factor(i, r);
    s_[i] = static_cast<float>(std::sqrt(a));
    b[i] = static_cast<float>(std::sqrt(a) * (r - shift_ * beta_[i] / a));
  }
  lanczos_.emplace(b.data(), s_.data(), rows_.ld, rows_.n_weighted);
  minres_.emplace(shift_, lanczos_->matrix().beta[0]);
  inner_tolerated_ =
      std::sqrt(rows_.total * std::max(kInner * problem_.stop.tolerance, kForcing * certificate_.gap));
  if (is_inner_solved()) propose();
}

bool ExpectileColumn::is_inner_solved() const {
  return lanczos_->is_complete() || minres_->residual() <= inner_tolerated_ ||
         certificate_.steps + 1 >= problem_.stop.max_steps;
}

// Proposes the Newton step.  The next product, of K with the new coefficients, shows whether it decreases the gap.
void ExpectileColumn::propose() {
  Aligned<float> u(rows_.ld);
  float* const row = u.data();
  lanczos_->combine({minres_->coordinates(lanczos_->matrix(), lanczos_->matrix().size())}, &row);
  for (int i = 0; i < rows_.n; ++i) next_[i] = static_cast<float>(beta_[i] + static_cast<double>(s_[i]) * u[i]);
  lanczos_.reset();
  minres_.reset();
}

void ExpectileColumn::accept() {
  beta_step_.resize(rows_.n);
  f_step_.resize(rows_.n);
  for (int i = 0; i < rows_.n; ++i) {
    beta_step_[i] = next_[i] - beta_[i];
    f_step_[i] = y_[i] - f_[i];
  }
  double fraction = 1;
  if (!(gap(1) < gap(0))) {
    double low = 0, high = 1;
    for (int halving = 0; halving < kHalvings; ++halving) (slope((low + high) / 2) > 0 ? high : low) = (low + high) / 2;
    fraction = slope(1) > 0 ? low : 1;
  }
  for (int i = 0; i < rows_.n; ++i) {
    beta_[i] += fraction * beta_step_[i];
    f_[i] += fraction * f_step_[i];
  }
  beta_step_.clear();
}

// Duality gap after this fraction of the proposed step.
double ExpectileColumn::gap(double fraction) const {
  if (!(rows_.total > 0)) return 0;
  double sum = 0;
  for (int i = 0; i < rows_.n; ++i) {
    if (!(rows_.weight[i] > 0)) continue;
    const double beta = beta_[i] + (fraction > 0 ? fraction * beta_step_[i] : 0.0);
    const double r = target_[i] - f_[i] - (fraction > 0 ? fraction * f_step_[i] : 0.0);
    sum += gap_at(i, beta, r);
  }
  return sum / rows_.total;
}

double ExpectileColumn::gap_at(int i, double beta, double r) const {
  return factor(i, r) * r * r - 2 * shift_ * beta * r + shift_ * shift_ * beta * beta / factor(i, beta);
}

// Derivative of the regularized risk along the proposed step, times W / 2.
double ExpectileColumn::slope(double fraction) const {
  double sum = 0;
  for (int i = 0; i < rows_.n; ++i) {
    if (!(rows_.weight[i] > 0)) continue;
    const double r = target_[i] - f_[i] - fraction * f_step_[i];
    sum += f_step_[i] * (shift_ * (beta_[i] + fraction * beta_step_[i]) - factor(i, r) * r);
  }
  return sum;
}

std::vector<Certificate> ExpectileColumn::finish(const BlockProduct& product, float* const* beta) {
  for (size_t q = 0; q < solutions_.size(); ++q) {
    std::copy(solutions_[q].begin(), solutions_[q].end(), beta[q]);
    if (is_doubtful(solutions_[q])) check(product, beta[q], q);
  }
  return certificates_;
}

// Whether the rounding of K beta could be visible in the gap.
bool ExpectileColumn::is_doubtful(const std::vector<float>& beta) const {
  double squares = 0;
  for (double b : beta) squares += b * b;
  return kRounding * std::sqrt(squares) > kTrusted * std::sqrt(problem_.stop.tolerance);
}

// Recomputes the gap of these coefficients in double.
void ExpectileColumn::check(const BlockProduct& product, const float* beta, size_t q) {
  Aligned<double> r(rows_.ld);
  std::copy_n(target_, rows_.n, r.data());
  product.subtract_exactly(beta, r.data());
  shift_ = rows_.shift(problem_.lams[q]);
  double sum = 0;
  for (int i = 0; i < rows_.n; ++i)
    if (rows_.weight[i] > 0) sum += gap_at(i, beta[i], r[i]);
  Certificate& certificate = certificates_[q];
  certificate.gap = sum / rows_.total;
  if (certificate.gap <= problem_.stop.tolerance)
    certificate.status = Status::converged;
  else if (certificate.status == Status::converged)
    certificate.status = Status::precision;
}

}  // namespace

SquareResult solve_expectile(const HalfKernel& kernel, const std::vector<int>& fold_ends, const SquareProblem& problem,
                             double tau, int n_threads) {
  return solve_columns(kernel, fold_ends, problem, n_threads, [&](const TrainingRows& rows, const float* target) {
    return std::make_unique<ExpectileColumn>(rows, target, problem, tau);
  });
}

}  // namespace localsvm
