"""Many paths at once are the paths one by one; a part of a cell is a cell of its rows. To the bit."""

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm._native import (
    CancelToken,
    Cell,
    PathJob,
    StopRule,
    available_simd_levels,
    set_simd_level,
    simd_level,
    solve_paths,
)
from localsvm.cell.memory import cell_bytes
from localsvm.cell.path import SKIPPED, STATUS
from localsvm.data import toy_mixture

N, D = 150, 3
ENDS = [50, 100, N]
FOLDS = [0, 1, 2, -1]
LAMS = np.array([1e-1, 1e-2, 1e-3, 1e-4])
TOLERANCE, MAX_STEPS = 1e-3, 1_000_000
X, SIGNS = toy_mixture(N, D, random_state=0)
PART = np.flatnonzero(np.random.default_rng(0).uniform(size=N) < 0.6)


def add_hinge(cell, y, weight=1.0):
    signed = (np.asarray(y) * weight).astype(np.float32)
    return cell.add_problem(np.asarray(y, dtype=np.float32), np.minimum(signed, 0), np.maximum(signed, 0), 1.0)


def add_median(cell, target):
    target = np.asarray(target, dtype=np.float32)
    half = np.full(len(target), 0.5, dtype=np.float32)
    return cell.add_problem(target, -half, half, float(np.abs(target).max()))


def make_cell(rows=slice(None), ends=ENDS, kernel="gauss", max_bytes=None, n_threads=1):
    return Cell(np.ascontiguousarray(X[rows]), ends, kernel, None, max_bytes, n_threads)


def native_bytes(storage, n=N, n_threads=1):
    """The smallest budget with which this is what is stored of a cell."""
    plan = cell_bytes(n, D, n_threads=n_threads)
    return {"full": plan.full, "kernel": plan.kernel, "rows": plan.smallest}[storage] - plan.around


ARRAYS = ("beta", "values", "gap", "status", "steps", "loss", "wrong")


def solve(
    cells, problems, *, folds=FOLDS, lams=LAMS, n_lams=None, weights=None, tolerance=TOLERANCE, token=None, **options
):
    n_lams = [len(lams)] * len(cells) if n_lams is None else n_lams
    weights = np.full((len(cells), len(folds)), 100.0) if weights is None else weights
    jobs = [
        PathJob(cell, problem, lams[:count], weight)
        for cell, problem, count, weight in zip(cells, problems, n_lams, weights, strict=True)
    ]
    return solve_paths(jobs, folds, StopRule(tolerance, MAX_STEPS, token), **options)


def part_ends(rows, ends=ENDS):
    return np.searchsorted(rows, ends).tolist()


def assert_same_bits(left, right):
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    assert left.shape == right.shape
    np.testing.assert_array_equal(left.view(np.uint8), right.view(np.uint8))


def assert_one_by_one(many, jobs, n_lams, folds=FOLDS, weights=None):
    """Results of many paths are those of each job, a (cell, problem, ends) whose width is set."""
    begin = 0
    for j, (cell, problem, ends) in enumerate(jobs):
        n, solved = ends[-1], slice(0, n_lams[j])
        for place, fold in enumerate(folds):
            weight = 100.0 if weights is None else weights[j, place]
            path = cell.solve_path(problem, fold, LAMS[solved], weight, StopRule(TOLERANCE, MAX_STEPS))
            assert_same_bits(many.beta[place, solved, begin : begin + n], path.beta)
            if fold >= 0:
                first = ends[fold - 1] if fold else 0
                assert_same_bits(many.values[solved, begin + first : begin + ends[fold]], path.values)
            for name in ("gap", "status", "steps"):
                assert_same_bits(getattr(many, name)[j, place, solved], getattr(path, name))
            left = slice(n_lams[j], None)
            assert np.isnan(many.gap[j, place, left]).all()
            assert (many.status[j, place, left] == SKIPPED).all()
            assert (many.steps[j, place, left] == 0).all()
            assert (many.loss[j, place, left] == 0).all()
            assert (many.wrong[j, place, left] == 0).all()
            assert (many.beta[place, left, begin : begin + n] == 0).all()
        begin += n
    assert many.beta.shape[2] == many.values.shape[1] == begin


@pytest.fixture(params=available_simd_levels())
def level(request):
    before = simd_level()
    set_simd_level(request.param)
    yield request.param
    set_simd_level(before)


# ---------------------------------------------------------------------------------------- many paths


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("kernel", ["gauss", "laplace", "manhattan"])
def test_paths_of_several_problems_are_the_paths_of_each(level, kernel, n_threads):
    cell = make_cell(kernel=kernel)
    weight = np.random.default_rng(1).uniform(0.5, 2, size=N)
    problems = [add_hinge(cell, SIGNS), add_hinge(cell, -SIGNS, weight), add_median(cell, np.sin(3 * X[:, 0]))]
    cell.set_width(0.7)
    weights = np.random.default_rng(2).uniform(50, 200, size=(3, len(FOLDS)))
    n_lams = [4, 1, 3]
    many = solve([cell] * 3, problems, n_lams=n_lams, weights=weights, n_threads=n_threads)
    assert_one_by_one(many, [(cell, problem, ENDS) for problem in problems], n_lams, weights=weights)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("folds", [[1], [-1], [2, 0]])
def test_any_folds_can_be_asked_for(folds, n_threads):
    cell = make_cell()
    problem = add_hinge(cell, SIGNS)
    cell.set_width(1.0)
    many = solve([cell], [problem], folds=folds, n_threads=n_threads)
    assert_one_by_one(many, [(cell, problem, ENDS)], [4], folds)


def test_values_of_samples_in_no_validation_fold_are_zero():
    cell = make_cell()
    problem = add_hinge(cell, SIGNS)
    cell.set_width(1.0)
    values = solve([cell], [problem], folds=[1]).values
    assert (values[:, :50] == 0).all() and (values[:, 100:] == 0).all()
    assert values[:, 50:100].any()


def test_no_lams_is_nothing_to_do():
    cell = make_cell()
    problem = add_hinge(cell, SIGNS)
    cell.set_width(1.0)
    none = solve([cell], [problem], n_lams=[0])
    assert none.beta.shape == (4, 0, N) and none.values.shape == (0, N) and none.gap.shape == (1, 4, 0)


# -------------------------------------------------------------------------------------------- parts


@pytest.mark.parametrize("storage", ["full", "kernel", "rows"])
@pytest.mark.parametrize("kernel", ["gauss", "laplace", "manhattan"])
def test_distances_and_kernel_of_a_part_are_those_of_a_cell_of_its_rows(level, kernel, storage):
    whole = make_cell(kernel=kernel, max_bytes=native_bytes(storage))
    assert whole.storage == storage
    part, alone = whole.part(PART.tolist()), make_cell(PART, part_ends(PART), kernel)
    assert_same_bits(part.distances(), alone.distances())
    for width in (2.0, 0.3):
        whole.set_width(width)
        alone.set_width(width)
        assert_same_bits(part.kernel_matrix(), alone.kernel_matrix())


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("storage", ["full", "kernel", "rows"])
def test_paths_of_a_part_are_those_of_a_cell_of_its_rows(level, storage, n_threads):
    whole = make_cell(max_bytes=native_bytes(storage, n_threads=n_threads), n_threads=n_threads)
    assert whole.storage == storage
    part, alone = whole.part(PART.tolist()), make_cell(PART, part_ends(PART))
    problems = [add_hinge(part, SIGNS[PART])]
    add_hinge(alone, SIGNS[PART])
    for width in (2.0, 0.3):
        whole.set_width(width)
        alone.set_width(width)
        assert_one_by_one(solve([part], problems, n_threads=n_threads), [(alone, 0, part_ends(PART))], [4])


@given(seed=st.integers(0, 2**32 - 1), n_threads=st.integers(1, 4))
@settings(deadline=None, max_examples=20)
def test_parts_and_wholes_are_solved_side_by_side(seed, n_threads):
    rng = np.random.default_rng(seed)
    whole = make_cell()
    jobs, cells, problems = [], [], []
    for _ in range(int(rng.integers(1, 5))):
        # Parts may be one row, and folds of theirs empty.
        rows = np.sort(rng.choice(N, size=rng.integers(1, 80), replace=False))
        part, alone = whole.part(rows.tolist()), make_cell(rows, part_ends(rows))
        cells.append(part)
        problems.append(add_hinge(part, SIGNS[rows]))
        jobs.append((alone, add_hinge(alone, SIGNS[rows]), part_ends(rows)))
    place = int(rng.integers(len(cells) + 1))
    cells.insert(place, whole)
    problems.insert(place, add_hinge(whole, SIGNS))
    jobs.insert(place, (whole, 0, ENDS))
    for cell in {id(cell): cell for cell, *_ in jobs}.values():
        cell.set_width(0.5)
    n_lams = rng.integers(1, 5, size=len(cells)).tolist()
    assert_one_by_one(solve(cells, problems, n_lams=n_lams, n_threads=n_threads), jobs, n_lams)


def test_a_part_of_all_rows_is_the_whole():
    whole = make_cell()
    part = whole.part(list(range(N)))
    problems = [add_hinge(whole, SIGNS), add_hinge(part, SIGNS)]
    whole.set_width(0.5)
    both = solve([whole, part], problems)
    assert_same_bits(both.beta[:, :, :N], both.beta[:, :, N:])
    assert_same_bits(both.values[:, :N], both.values[:, N:])
    for by_job in (both.gap, both.status, both.steps):
        assert_same_bits(by_job[0], by_job[1])


def test_a_problem_may_join_a_part_after_the_width_was_set():
    whole = make_cell()
    whole.set_width(0.5)
    part, alone = whole.part(PART.tolist()), make_cell(PART, part_ends(PART))
    problem = add_hinge(part, SIGNS[PART])
    add_hinge(alone, SIGNS[PART])
    alone.set_width(0.5)
    assert_one_by_one(solve([part], [problem]), [(alone, 0, part_ends(PART))], [4])


def test_a_part_keeps_its_whole_alive():
    whole = make_cell()
    whole.set_width(0.5)
    part, expected = whole.part(PART.tolist()), whole.kernel_matrix()[np.ix_(PART, PART)]
    del whole
    gc.collect()
    assert_same_bits(part.kernel_matrix(), expected)


def test_a_fold_without_training_samples_gives_the_zero_function():
    whole = make_cell()
    rows = list(range(10, 20))  # all in the first fold
    part = whole.part(rows)
    problem = add_hinge(part, SIGNS[rows])
    whole.set_width(0.5)
    zero = solve([part], [problem], folds=[0])
    assert (zero.beta == 0).all() and (zero.values == 0).all()
    assert np.isfinite(zero.gap).all()
    assert (zero.status == STATUS.index("converged")).all()


# ------------------------------------------------------------------------------------------- guesses


def jobs_with(storage="full"):
    """A problem of all rows and one of a part, at a width where the plain start is far from the solution."""
    whole = make_cell(max_bytes=native_bytes(storage))
    signed = SIGNS.astype(np.float32)
    never_clipped = [signed, np.minimum(signed, 0), np.maximum(signed, 0), 1e30]
    part = whole.part(PART.tolist(), None)
    numbers = [whole.add_problem(*never_clipped), part.add_problem(*[row[PART] for row in never_clipped[:3]], 1e30)]
    whole.set_width(0.8)
    return [whole, part], numbers


GUESSES = {
    "zeros": np.zeros((len(FOLDS), N + len(PART))),
    "noise": np.random.default_rng(1).normal(size=(len(FOLDS), N + len(PART))),
    "far outside": np.full((len(FOLDS), N + len(PART)), -1e30),
}


@pytest.mark.parametrize("guesses", GUESSES.values(), ids=GUESSES.keys())
def test_a_guess_changes_where_a_path_begins_not_where_it_ends(guesses, level):
    tolerance, lams = 1e-6, LAMS[:3]
    plain = solve(*jobs_with(), lams=lams, tolerance=tolerance)
    guessed = solve(*jobs_with(), lams=lams, tolerance=tolerance, guesses=guesses.astype(np.float32))
    assert (guessed.gap <= tolerance).all()
    # lam ||f - f*||^2 is at most the gap.
    allowed = 2 * np.sqrt(tolerance / lams)
    assert (np.abs(guessed.values - plain.values).max(axis=1) <= allowed).all()
    assert (np.abs(plain.values).max(axis=1) > 5 * allowed).all()
    assert (guessed.steps != plain.steps).any(), "the guess was used"


def test_a_guess_that_is_the_solution_takes_no_step():
    lams = LAMS[2:]
    plain = solve(*jobs_with(), lams=lams)
    again = solve(*jobs_with(), lams=lams, guesses=np.ascontiguousarray(plain.beta[:, 0]))
    assert (plain.steps[:, :, 0] > 0).all()
    assert (again.steps[:, :, 0] == 0).all()
    assert_same_bits(again.beta[:, 0], plain.beta[:, 0])


def test_a_guess_does_not_count_where_the_plain_start_is_good_enough():
    lams = np.array([1e3])
    plain = solve(*jobs_with(), lams=lams)
    assert (plain.steps == 0).all()
    guessed = solve(*jobs_with(), lams=lams, guesses=GUESSES["noise"].astype(np.float32))
    assert_same_bits(guessed.beta, plain.beta)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("storage", ["kernel", "rows"])
def test_guesses_are_followed_alike_whatever_is_stored(storage, n_threads):
    guesses = GUESSES["noise"].astype(np.float32)
    stored = solve(*jobs_with(), guesses=guesses)
    others = solve(*jobs_with(storage), guesses=guesses, n_threads=n_threads)
    for name in ARRAYS:
        assert_same_bits(getattr(others, name), getattr(stored, name))


# ------------------------------------------------------------------------------------------ refusals


def prepared():
    cell = make_cell()
    problem = add_hinge(cell, SIGNS)
    cell.set_width(1.0)
    return cell, problem


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"total_weights": [1.0] * 3}, "one total weight per fold"),
        ({"cell": None}, "incompatible function arguments"),
        ({"problem": 1}, "no such problem"),
        ({"problem": -1}, "no such problem"),
        ({"folds": [3]}, "no such fold"),
        ({"folds": [-2]}, "no such fold"),
        ({"lams": [1e-3, 1e-2]}, "lams must be positive and descend"),
        ({"lams": [1e-3, 0.0]}, "lams must be positive and descend"),
        ({"lams": [np.nan, 1e-3]}, "lams must be positive and descend"),
        ({"total_weights": [0.0]}, "weights must be positive"),
        ({"total_weights": [np.nan]}, "weights must be positive"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
        ({"max_steps": -1}, "max_steps not negative"),
        ({"n_threads": 0}, "at least one thread"),
        ({"guesses": np.zeros((1, N + 1), np.float32)}, "guesses need one row per fold"),
        ({"guesses": np.zeros((2, N), np.float32)}, "guesses need one row per fold"),
    ],
    ids=str,
)
def test_what_cannot_be_solved_is_refused(change, sentence):
    cell, problem = prepared()
    job = {"cell": cell, "problem": problem, "lams": [1e-2, 1e-3], "total_weights": [100.0]}
    stop = {"tolerance": 1e-3, "max_steps": 1000}
    options = {"folds": [0], "n_threads": 1, "guesses": None}

    def run(**changed):
        job_, stop_, options_ = ({key: changed.get(key, part[key]) for key in part} for part in (job, stop, options))
        return solve_paths([PathJob(**job_)], stop=StopRule(**stop_), **options_)

    run()
    with pytest.raises((ValueError, TypeError), match=sentence):
        run(**change)


def test_no_jobs_is_nothing_to_do():
    none = solve([], [])
    assert none.beta.shape == (4, 0, 0) and none.values.shape == (0, 0) and none.gap.shape == (0, 4, 0)


def test_a_job_and_a_stop_rule_keep_what_they_refer_to():
    cell, problem = prepared()
    expected = solve([cell], [problem])
    job, stop = PathJob(cell, problem, LAMS, [100.0] * len(FOLDS)), StopRule(TOLERANCE, MAX_STEPS, CancelToken())
    del cell
    gc.collect()
    again = solve_paths([job], FOLDS, stop)
    for name in ARRAYS:
        assert_same_bits(getattr(again, name), getattr(expected, name))


@pytest.mark.parametrize("rows", [[], [-1, 2], [0, N], [3, 3], [5, 4]])
def test_rows_that_are_not_a_part_are_refused(rows):
    with pytest.raises(ValueError, match=r"at least one row|must ascend within the cell"):
        make_cell().part(rows)


def test_a_part_has_no_parts_and_no_width_of_its_own():
    part = make_cell().part([0, 1])
    with pytest.raises(ValueError, match="a part has no parts"):
        part.part([0])
    with pytest.raises(ValueError, match="a part has the width of its cell"):
        part.set_width(1.0)


def test_a_width_is_needed_before_kernels_and_paths():
    whole = make_cell()
    part = whole.part([0, 1])
    problems = [add_hinge(whole, SIGNS), add_hinge(part, SIGNS[:2])]
    for cell, problem in zip((whole, part), problems, strict=True):
        with pytest.raises(ValueError, match="set a width first"):
            cell.kernel_matrix()
        with pytest.raises(ValueError, match="set a width first"):
            solve([cell], [problem])


def test_a_problem_that_joins_a_whole_needs_the_width_again():
    cell, _ = prepared()
    late = add_hinge(cell, -SIGNS)
    with pytest.raises(ValueError, match="set a width after the problem was added"):
        solve([cell], [late])


def test_a_part_is_in_one_job_only():
    whole = make_cell()
    part = whole.part(PART.tolist())
    problem = add_hinge(part, SIGNS[PART])
    whole.set_width(1.0)
    with pytest.raises(ValueError, match="a part can be in one job only"):
        solve([part, part], [problem, problem])


def test_a_path_of_a_part_alone_is_refused():
    # Its kernel matrix is there only while many paths are solved.
    whole = make_cell()
    part = whole.part(PART.tolist())
    problem = add_hinge(part, SIGNS[PART])
    whole.set_width(1.0)
    solve([part], [problem])
    with pytest.raises(ValueError, match="width"):
        part.solve_path(problem, 0, LAMS, 100.0, StopRule(TOLERANCE, MAX_STEPS))


# -------------------------------------------------------------------------------------- cancellation


@pytest.mark.parametrize("n_threads", [1, 3])
def test_cancelled_paths_are_not_solved(n_threads):
    whole = make_cell()
    part = whole.part(PART.tolist())
    problems = [add_hinge(whole, SIGNS), add_hinge(part, SIGNS[PART])]
    whole.set_width(1.0)
    token = CancelToken()
    token.cancel()
    solved = solve([whole, part], problems, n_threads=n_threads, token=token)
    assert np.isin(solved.status, (SKIPPED, STATUS.index("cancelled"))).all()
    assert (solved.steps == 0).all() and (solved.beta == 0).all() and np.isnan(solved.gap).all()


def test_after_a_cancelled_attempt_the_paths_are_as_if_it_had_not_been():
    whole = make_cell()
    part, alone = whole.part(PART.tolist()), make_cell(PART, part_ends(PART))
    problem = add_hinge(part, SIGNS[PART])
    add_hinge(alone, SIGNS[PART])
    whole.set_width(1.0)
    alone.set_width(1.0)
    token = CancelToken()
    token.cancel()
    solve([part], [problem], token=token)
    assert_one_by_one(solve([part], [problem]), [(alone, 0, part_ends(PART))], [4])
