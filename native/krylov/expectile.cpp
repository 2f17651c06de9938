#include "krylov/expectile.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "krylov/lanczos.h"

namespace localsvm {

namespace {

constexpr double kInner = 0.5;         // part of the tolerated gap that is left to the inner equation
constexpr double kForcing = 0.01;      // or of the gap there is, where that is more
constexpr double kProgress = 0.9;      // a step that leaves more of the gap than this is one without progress
constexpr int kMaxStalls = 4;           // such steps
constexpr int kHalvings = 30;          // of the part of a step that is taken
constexpr double kRounding = 0x1p-23;  // of a product with K, relative to what is summed
constexpr double kTrusted = 0.05;      // part of the tolerated residual that rounding may take unseen

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
      look();
    }
  }

  std::vector<Certificate> finish(const BlockProduct& product, float* const* beta) override;

 private:
  double factor(int i, double sign) const { return rows_.weight[i] * (sign > 0 ? above_ : below_); }

  void start_lam();
  void look();
  void start_step();
  bool is_inner_solved() const;
  void propose();
  void accept();
  void end_lam(Status status);
  double gap(double part) const;
  double gap_at(int i, double beta, double r) const;
  bool is_doubtful(const std::vector<float>& beta) const;
  void check(const BlockProduct& product, const float* beta, size_t q);
  double slope(double part) const;

  const TrainingRows& rows_;
  const float* target_;
  const SquareProblem& problem_;
  const double above_, below_;
  double shift_ = 0;
  Aligned<float> s_, y_, next_;
  std::vector<double> beta_, f_;              // f = K beta
  std::vector<double> beta_step_, f_step_;    // of the step proposed; empty: none
  std::optional<Lanczos> lanczos_;            // while the inner equation is solved
  std::optional<ShiftedMinres> minres_;
  double inner_tolerated_ = 0, lowest_ = 0;
  int n_stalls_ = 0;
  Certificate certificate_;
  std::vector<Certificate> certificates_;
  std::vector<std::vector<float>> solutions_;
};

// The same coefficients are the start for the next lambda.
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

// After a step: on to the next lambda, or to the next step.
void ExpectileColumn::look() {
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

// (S K S + c) u = S (y - K beta - c beta / a), S = diag(sqrt a), and beta moves by S u.
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

// The product of K with what the coefficients would be says what the step is worth.
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
  double part = 1;
  if (!(gap(1) < gap(0))) {
    double low = 0, high = 1;
    for (int halving = 0; halving < kHalvings; ++halving) (slope((low + high) / 2) > 0 ? high : low) = (low + high) / 2;
    part = slope(1) > 0 ? low : 1;
  }
  for (int i = 0; i < rows_.n; ++i) {
    beta_[i] += part * beta_step_[i];
    f_[i] += part * f_step_[i];
  }
  beta_step_.clear();
}

// Of the coefficients with this part of the proposed step.
double ExpectileColumn::gap(double part) const {
  if (!(rows_.total > 0)) return 0;
  double sum = 0;
  for (int i = 0; i < rows_.n; ++i) {
    if (!(rows_.weight[i] > 0)) continue;
    const double beta = beta_[i] + (part > 0 ? part * beta_step_[i] : 0.0);
    const double r = target_[i] - f_[i] - (part > 0 ? part * f_step_[i] : 0.0);
    sum += gap_at(i, beta, r);
  }
  return sum / rows_.total;
}

double ExpectileColumn::gap_at(int i, double beta, double r) const {
  return factor(i, r) * r * r - 2 * shift_ * beta * r + shift_ * shift_ * beta * beta / factor(i, beta);
}

// Half the derivative of the regularised risk, times W, along the proposed step.
double ExpectileColumn::slope(double part) const {
  double sum = 0;
  for (int i = 0; i < rows_.n; ++i) {
    if (!(rows_.weight[i] > 0)) continue;
    const double r = target_[i] - f_[i] - part * f_step_[i];
    sum += f_step_[i] * (shift_ * (beta_[i] + part * beta_step_[i]) - factor(i, r) * r);
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

// Whether the rounding of K beta can be seen in the gap.
bool ExpectileColumn::is_doubtful(const std::vector<float>& beta) const {
  double squares = 0;
  for (double b : beta) squares += b * b;
  return kRounding * std::sqrt(squares) > kTrusted * std::sqrt(problem_.stop.tolerance);
}

// The gap of these coefficients, in double.
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
