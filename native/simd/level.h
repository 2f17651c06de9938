// Declares the loops of a level's table (ops.h) that are defined in other files than ops_level.cpp, which makes the
// table.
#pragma once

#include "simd/ops.h"

namespace localsvm::LOCALSVM_LEVEL {

// In steps_level.cpp.
Scan update_and_scan(const Sweep& sweep, const Range* ranges, int n_ranges);
double gap(const float* r, const float* beta, const float* lo, const float* hi, const float* t, float bound,
           const Range* ranges, int n_ranges);
bool best_partner(const float* r, const uint32_t* slack, int i, const Partners& partners, Step* step);

// In bounds_level.cpp.
void set_slack(const LoopArrays& loop, Range range);
int find_bound_changes(const LoopArrays& loop, const BoundArrays& at, Range range, int32_t* changed, float* units);
void shift_bounds(const LoopArrays& loop, const BoundArrays& at, float scale, double growth, Range range);
int find_moved(const float* beta, const double* accounted, Range range, int32_t* moved);

// In products_level.cpp.
void add_down(const Block& block, const BlockVector* vectors, int count);
void add_across(const Block& block, const BlockVector* vectors, int count);
void sum_lanes(float* lanes, int n, float* y);

// In gradient_level.cpp.
void add_differences(Kernel kernel, const float* const* x, int count, const float* const* slopes, const float* c,
                     const float* panels, int n_features, Range columns, double* const* out);

// In evaluate_level.cpp.
void evaluate(const SupportView& support, const float* points, const float* sizes, int n_points, int n_features,
              double* f);

// In extrapolation_level.cpp.
PlaneSums plane_sums(const float* beta, const float* r, const ExtrapolationArrays& at, Range range);
int point_of_plane(const LoopArrays& loop, const ExtrapolationArrays& at, float x, float y, Range range, float* point,
                   double* change, int32_t* clipped);
ChordSums chord_sums(const float* beta, const float* r, const float* point, const double* change, Range range);
double apply_extrapolation(const LoopArrays& loop, const float* point, const double* change, float fraction,
                           const ExtrapolationArrays& at, Range range);

// In nearest_level.cpp.
void nearest_in_panels(const float* const* x, int count, const float* panels, int n_centers, int n_features,
                       int32_t* labels, float* distances);
void center_products(const float* const* x, int count, const float* panels, const float* sizes, size_t ld,
                     int n_features, float* const* out, float* least);
void update_nearest(const float* XT, int n_features, size_t ld, const float* center, int32_t label, float* nearest,
            int32_t* labels);

}  // namespace localsvm::LOCALSVM_LEVEL
