#include "ridge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "block_product.h"
#include "lanczos.h"

namespace localsvm {

namespace {

constexpr int kMostColumns = 24;     // targets times folds at work at once: bounds the memory of their bases
constexpr double kRounding = 0x1p-21;  // of a product with K, relative to what is summed
constexpr double kTrusted = 0.5;     // part of the tolerated residual that rounding may take unseen

// What the problems of one fold share.
struct Training {
  int fold;
  Range left_out;
  double total = 0;        // weight of the training rows
  double largest = 0;      // root of the largest weight
  int n_rows = 0;          // with a weight
  Aligned<float> s;        // roots of the weights, 0 on the rows left out

  Training(int fold_, Range left_out_, const float* weight, int n, size_t ld)
      : fold(fold_), left_out(left_out_), s(ld) {
    for (int i = 0; i < n; ++i) {
      if ((i >= left_out.begin && i < left_out.end) || !(weight[i] > 0)) continue;
      s[i] = std::sqrt(weight[i]);
      total += weight[i];
      largest = std::max<double>(largest, s[i]);
      ++n_rows;
    }
  }
};

// One target without one fold, for all lambdas.
class Column {
 public:
  Column(const Training& training, const float* target, int n, size_t ld, const RidgeProblem& problem)
      : training_(training), target_(target), n_(n), ld_(ld), problem_(problem), y_(ld), lanczos_(start()) {
    const double norm = lanczos_.matrix().beta[0];
    for (double lam : problem.lambdas) {
      // Within what float32 can compute with.
      const double shift = std::clamp(lam * training.total, 1e-30, 1e30);
      shifts_.push_back({ShiftedMinres(shift, norm), {}, {}, false});
    }
    look();
  }

  bool is_done() const { return n_open_ == 0; }
  Operand operand() { return {lanczos_.operand(), training_.fold, y_.data()}; }

  void step() {
    lanczos_.step(y_.data());
    const int j = lanczos_.matrix().size() - 1;
    for (Shift& shift : shifts_)
      if (!shift.done) shift.minres.advance(lanczos_.matrix(), j);
    look();
  }

  // beta (lambda, row) and values (lambda, row) are zero before.
  void finish(const BlockProduct& product, float* beta, float* values, double* gap, int8_t* status,
              int32_t* iterations);

 private:
  struct Shift {
    ShiftedMinres minres;
    std::vector<double> z;
    Certificate certificate;
    bool done;
    bool doubtful = false;
  };

  Lanczos start() const {
    Aligned<float> b(ld_);
    for (int i = 0; i < n_; ++i) b[i] = training_.s[i] * target_[i];
    return Lanczos(b.data(), training_.s.data(), ld_, training_.left_out, training_.n_rows);
  }

  void look();
  bool is_solved(Shift& shift) const;
  double rounding(const std::vector<double>& z) const;
  double true_gap(const BlockProduct& product, const float* beta, double shift) const;

  const Training& training_;
  const float* target_;
  const int n_;
  const size_t ld_;
  const RidgeProblem& problem_;
  Aligned<float> y_;
  Lanczos lanczos_;
  std::vector<Shift> shifts_;
  int n_open_ = 0;
};

// Ends the shifts that are solved, or cannot get any further.
void Column::look() {
  const int steps = lanczos_.matrix().size();
  const bool last = lanczos_.is_complete() || steps >= problem_.max_iterations;
  n_open_ = 0;
  for (Shift& shift : shifts_) {
    if (shift.done) continue;
    shift.done = is_solved(shift);
    if (!shift.done && last) {
      shift.done = true;
      shift.doubtful = lanczos_.is_complete();
      shift.certificate.status = lanczos_.is_complete() ? Status::precision : Status::max_steps;
    }
    n_open_ += !shift.done;
  }
}

// Also true where rounding leaves no hope of seeing it from here.
bool Column::is_solved(Shift& shift) const {
  const int steps = lanczos_.matrix().size();
  const double tolerated = std::sqrt(problem_.tolerance * training_.total), residual = shift.minres.residual();
  const bool last = lanczos_.is_complete() || steps >= problem_.max_iterations;
  shift.certificate.steps = steps;
  if (!last && !(residual <= tolerated)) return false;
  shift.z = shift.minres.coordinates(lanczos_.matrix(), steps);
  const double hidden = rounding(shift.z), off = residual + hidden;
  shift.certificate.gap = training_.total > 0 ? off * off / training_.total : 0.0;
  if (off <= tolerated) return true;
  shift.doubtful = residual <= tolerated && hidden > kTrusted * tolerated;
  return shift.doubtful;
}

// What the products with K can have added to the residual of V z: each of them is summed in single precision.
double Column::rounding(const std::vector<double>& z) const {
  const Tridiagonal& T = lanczos_.matrix();
  double squares = 0, sums = 0;
  for (size_t j = 0; j < z.size(); ++j) {
    squares += z[j] * z[j];
    sums += std::abs(z[j]) * (std::abs(T.alpha[j]) + T.beta[j + 1] + (j > 0 ? T.beta[j] : 0.0));
  }
  return kRounding * (training_.largest * std::sqrt(training_.total * squares) + sums);
}

double Column::true_gap(const BlockProduct& product, const float* beta, double shift) const {
  Aligned<double> r(ld_);
  Aligned<float> x(ld_);
  std::copy(beta, beta + n_, x.data());
  std::copy(target_, target_ + n_, r.data());
  product.subtract_exactly({x.data(), training_.fold, nullptr}, r.data());
  double squares = 0;
  for (int i = 0; i < n_; ++i) {
    const double s = training_.s[i];
    if (s > 0) squares += std::pow(s * r[i] - shift * beta[i] / s, 2);
  }
  return squares / training_.total;
}

void Column::finish(const BlockProduct& product, float* beta, float* values, double* gap, int8_t* status,
                    int32_t* iterations) {
  const size_t n_lambdas = shifts_.size(), value_ld = padded(training_.left_out.size());
  Aligned<float> u(n_lambdas * ld_), f(n_lambdas * value_ld);
  std::vector<float*> u_rows, f_rows;
  std::vector<std::vector<double>> z;
  for (size_t q = 0; q < n_lambdas; ++q) {
    z.push_back(std::move(shifts_[q].z));
    u_rows.push_back(u.data() + q * ld_);
    f_rows.push_back(f.data() + q * value_ld);
  }
  lanczos_.combine(z, u_rows.data(), f_rows.data());
  for (size_t q = 0; q < n_lambdas; ++q) {
    Shift& shift = shifts_[q];
    float* const row = beta + q * n_;
    for (int i = 0; i < n_; ++i) row[i] = training_.s[i] * u_rows[q][i];
    std::copy_n(f_rows[q], training_.left_out.size(), values + q * n_ + training_.left_out.begin);
    if (shift.doubtful) {
      shift.certificate.gap = true_gap(product, row, shift.minres.shift());
      shift.certificate.status = shift.certificate.gap <= problem_.tolerance ? Status::converged : Status::precision;
    }
    gap[q] = shift.certificate.gap;
    status[q] = static_cast<int8_t>(shift.certificate.status);
    iterations[q] = static_cast<int32_t>(shift.certificate.steps);
  }
}

// Solves one block of columns together; `finished(c)` is called as soon as column c has its result, false when cancelled.
template <typename Finished>
void iterate(const BlockProduct& product, const std::vector<std::unique_ptr<Column>>& columns,
             const std::atomic<bool>* cancelled, const Finished& finished) {
  std::vector<size_t> open;
  for (size_t c = 0; c < columns.size(); ++c) open.push_back(c);
  for (;;) {
    std::vector<Operand> operands;
    std::vector<size_t> still;
    for (size_t c : open) {
      if (columns[c]->is_done()) {
        finished(c);
        continue;
      }
      still.push_back(c);
      operands.push_back(columns[c]->operand());
    }
    open = std::move(still);
    if (open.empty() || is_set(cancelled)) return;
    product.multiply(operands);
    if (is_set(cancelled)) return;
    for (size_t c : open) columns[c]->step();
  }
}

}  // namespace

RidgeResult solve_ridge(const KernelView& kernel, const std::vector<int>& fold_ends, const RidgeProblem& problem,
                        int n_threads) {
  const size_t n = kernel.n, n_folds = problem.folds.size(), n_lambdas = problem.lambdas.size();
  const size_t n_solves = problem.n_targets * n_folds * n_lambdas;
  RidgeResult result{std::vector<float>(n_solves * n), std::vector<float>(problem.n_targets * n_lambdas * n),
                     std::vector<double>(n_solves, std::numeric_limits<double>::quiet_NaN()),
                     std::vector<int8_t>(n_solves, static_cast<int8_t>(Status::cancelled)),
                     std::vector<int32_t>(n_solves)};
  std::vector<Training> trainings;
  for (int fold : problem.folds) {
    const Range left_out = fold < 0 ? Range{} : Range{fold == 0 ? 0 : fold_ends[fold - 1], fold_ends[fold]};
    trainings.emplace_back(fold, left_out, problem.weight, kernel.n, kernel.ld);
  }
  const BlockProduct product(kernel, fold_ends, n_threads);
  const size_t n_columns = problem.n_targets * n_folds;
  for (size_t first = 0; first < n_columns && !kernel.is_cancelled(); first += kMostColumns) {
    std::vector<std::unique_ptr<Column>> columns;
    for (size_t c = first; c < std::min(n_columns, first + kMostColumns); ++c)
      columns.push_back(std::make_unique<Column>(trainings[c % n_folds], problem.targets + c / n_folds * n, kernel.n,
                                                 kernel.ld, problem));
    iterate(product, columns, kernel.cancelled, [&](size_t c) {
      const size_t solve = (first + c) * n_lambdas, target = (first + c) / n_folds;
      columns[c]->finish(product, result.beta.data() + solve * n, result.values.data() + target * n_lambdas * n,
                         result.gap.data() + solve, result.status.data() + solve, result.iterations.data() + solve);
    });
  }
  return result;
}

}  // namespace localsvm
