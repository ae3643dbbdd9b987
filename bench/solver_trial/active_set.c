/*
 * The solver of the control loop: a lexicographic quadratic program by an active-set method.
 *
 *     level 0 ... levels - 1:   R x ~ r;   one of them also:  1/2 sum weights x^2 - pulls' x
 *     and, least of all,        1/2 sum regularisation x^2
 *     subject to                E x = e,   lower <= A x <= upper,   each row with a relaxation class
 *
 * Rows of class 0 hold. The violations of class 1 are minimised in the sense of least squares, then those of class 2,
 * and so on; then come the levels, each within the minimisers of those before it. If `strict` is zero there is one
 * level, and the regularisation is part of its sum.
 *
 * Contract
 *   - The caller owns all memory. It sets the sizes and the addresses of the program and of the results in a `solver`,
 *     all of whose other bytes are zero, and lets `active_set_arrange` place the workspace. Nothing is allocated later,
 *     and nothing recurses. Later programs may have fewer unknowns and rows than were arranged.
 *   - Matrices are stored by rows without gaps. LANES finite numbers follow each array of the program: they are read
 *     and multiplied by zero. LANES numbers after those of x and of `sides` may be overwritten.
 *   - `sides`, `hints`, `relaxed` and `guess_rank` carry the working set to the next program. Zeros, with guess_rank =
 *     rank_tolerance^2, start cold; any sides are allowed.
 *   - Work is bounded: two searches of at most `limit` changes of the working set, and twelve factorisations.
 *   - Numbers never trap. Statuses: DONE (optimal), RELAXED (optimal, rows of a class above 0 are violated), INACCURATE
 *     (a residual exceeds ACCURATE), LIMIT (x is the best point so far); without an answer INFEASIBLE (class 0 cannot
 *     hold), NOT_FOUND, NOT_CONVEX, NOT_FINITE (NaN or infinity where none may be).
 *   - Multipliers obey  H x + f + E' multipliers_E + A' multipliers_A = 0  and are positive at upper bounds.
 *
 * Phases (`active_set_solve`)
 *   1. guess     the last active set, corrected by semi-smooth Newton steps [HIK02]; feasible weighted programs only
 *   2. settle    the last working set as one lexicographic least-squares problem (`solve_working_set`) [EMW14], whose
 *                rows enter and leave by their violations and by the signs of their multipliers (`check_signs`)
 *   3. search    row by row, from that point and then from nothing: the dual method [GI83] makes class after class hold
 *                (`hold_classes`), the primal method minimises what cannot hold (`descend`); `settle` proves the result
 *   4. finish    multipliers, violations, residuals, status
 *
 * [EMW14] Escande, Mansard, Wieber: Hierarchical Quadratic Programming, Int. J. Robotics Research 33, 2014.
 * [GI83]  Goldfarb, Idnani: A Numerically Stable Dual Method for Solving Strictly Convex Quadratic Programs,
 *         Math. Programming 27, 1983.
 * [H73]   Harris: Pivot Selection Methods of the Devex LP Code, Math. Programming 5, 1973.
 * [HIK02] Hintermueller, Ito, Kunisch: The Primal-Dual Active Set Strategy as a Semismooth Newton Method,
 *         SIAM J. Optimization 13, 2002.
 * [PW70]  Peters, Wilkinson: The Least Squares Problem and Pseudo-Inverses, Computer Journal 13, 1970.
 */

#include <math.h>
#include <stdint.h>

enum { DONE, NOT_FOUND, NOT_CONVEX, NOT_FINITE, CONFLICT, LIMIT, INACCURATE, RELAXED, INFEASIBLE, FAR };

enum { LANES = 8 };            /* numbers per block; rows of the workspace are padded to whole blocks */
enum { TALL = 4 * LANES };     /* rows that a product with all constraints processes together */
enum { WARM_TRIES = 2 };       /* working sets that `settle` solves from the last one */
enum { COLD_PROOF_TRIES = 6 }; /* the same after a search from nothing */
enum { WARM_PROOF_TRIES = 2 }; /* the same after a search from a point */
enum { MANY_WRONG = 6 };       /* rows on a wrong side beyond which a guess is given up: the program jumped */
enum { MANY_ENTER = 8 };       /* rows that may enter at once in `settle` */
enum { ROWS_PER_CHANGE = 8 };  /* rows of a level whose factorisation costs as much as a change of the working set */
enum { LIKELY = 1, MINIMISED = 2 }; /* hints: a class was violated in the last program; is minimised in this one */
enum { BY_COST = 1, BY_CLASS = 2 }; /* which kind of level decided a row */

/* Parts of a row's length; what other rows leave of it counts as zero below them. */
static const double RANK_OF_LEVEL = 1e-8;    /* rows of a level */
static const double RANK_TO_ENTER = 1e-7;    /* rows that enter a working set one by one */
static const double RANK_OF_COST = 1e-9;     /* rows of a minimised level that keep their values */
static const double RANK_OF_EQUALITY = 1e-9; /* equalities; those of class 1 have rank_tolerance instead */
static const double RANK_OF_GUESS = 1e-11;   /* rows of a guess; squared, in the sense of the cost */

static const double TOLERANCE = 1e-9;        /* violation, by 1 + |value| and by |row| |x|, that counts as zero */
static const double GUESS_TOLERANCE = 1e-8;  /* violation, by 1 + |value|, that counts as zero in a guess */
static const double FEASIBLE = 1e-7;         /* violation, by max(1, |value|), that is not reported */
static const double ACCURATE = 1e-6;         /* largest residual of a solution */
static const double SLACK = 0.25;            /* part of a row's tolerance by which a step may violate it [H73] */
static const double NOISE = 1e-11;           /* multiplier, by the size of its level, that counts as zero */
static const double WRONG = 1e-6;            /* multiplier of the wrong sign, by the same, with which a row leaves */
static const double NOISE_OF_GUESS = 1e-10;  /* multiplier of a guess, by the largest one, that counts as zero */
static const double NOISE_OF_COST = 1e-11;   /* deviation of a row of the cost, by its terms, that counts as zero */
static const double SMALL_CHANGE = 1e-10;    /* change of a multiplier, by the largest one, that counts as zero */
static const double FLAT = 1e-7;             /* slope of a row along a step, by |row| |step|, that counts as zero */
static const double BELOW = 1e-6;            /* factor of the regularisation where it comes after the last level */
static const double LOST_DIGITS = 1e-10;     /* pivot, by its diagonal entry, below which most digits are lost */
static const double ROUNDING = 1e-15;        /* pivot, by its diagonal entry, that counts as zero */

typedef int64_t integer;
typedef struct solver solver;

/* The workspace: each array with how many numbers it holds. The list is used twice, to declare and to place them. */
#define WORKSPACE(REAL, INTEGER) \
    /* The cost as one sum (`guess`): H = R'R + diagonal = U'U in place, and f. */ \
    REAL(H, n * wide) REAL(f, wide) \
    REAL(V, n * columns) REAL(S, columns * columns) /* U^-T (f, rows of the guess), and V'V */ \
    REAL(rhs, columns) REAL(squares, columns)       /* multipliers of V's columns; diagonal of S */ \
    INTEGER(guessed, n_A)                           /* rows of A that are columns of V */ \
    /* All constraints as one set, E before A: low <= M x <= high. */ \
    REAL(M, m * wide) REAL(M_T, n * tall)           /* by rows, and by columns */ \
    REAL(low, m) REAL(high, m) REAL(norm, m)        /* bounds, lengths of the rows */ \
    REAL(norm_R, n_R)                               /* lengths of the rows of R */ \
    REAL(loose, m)                                  /* tolerance, relative, if the class has dependent equalities */ \
    REAL(value, tall) REAL(slope, tall)             /* M x, M step */ \
    REAL(side, m) REAL(multiplier, m)               /* as `sides` and `multipliers`; sides of equalities are 1 */ \
    INTEGER(of_class, m)                            /* relaxation class */ \
    INTEGER(decided, m)                             /* BY_COST, BY_CLASS: first level with a multiplier; or 0 */ \
    INTEGER(fixed, m) REAL(target, m)               /* whether a search decided the row, and the value it keeps */ \
    REAL(found_multiplier, m)                       /* of a row that a search decided */ \
    REAL(violated_side, m)                          /* where a row of the minimised class is violated, or 0 */ \
    INTEGER(blocking, m)                            /* rows that may end a step */ \
    /* Least squares, level after level: x = Q y with one reflection per coordinate; rows of T are in terms of y. */ \
    REAL(T, rows * wide) REAL(aim, rows)            /* rows first_row[k] ... first_row[k + 1] - 1 are level k */ \
    REAL(squared, rows) REAL(left, rows)            /* squared length; that outside of the decided coordinates */ \
    REAL(deviation, rows)                           /* value - aim */ \
    INTEGER(origin, rows)                           /* i: row i of M; -1 - j: row j of R; -1 - n_R - i: weight i */ \
    INTEGER(first_row, steps) INTEGER(first_coordinate, steps) /* of each level */ \
    INTEGER(is_pivot, rows) INTEGER(pivot, n)       /* whether a row decides a coordinate; which row decides it */ \
    REAL(reflector, n * wide) REAL(beta, wide)      /* reflections 1 - beta v v' */ \
    INTEGER(spare, rows) REAL(F, rows * wide)       /* rows of a level that are no pivots, as multiples of pivots */ \
    REAL(small, padded(rows) * padded(rows)) REAL(delta, padded(rows)) /* 1 + F F', and nu */ \
    REAL(y, wide) REAL(b, wide) REAL(scratch, wide) \
    REAL(Z, n * wide) REAL(D, wide) REAL(pull, wide) /* free directions; what is left of the cost for them */ \
    REAL(gradient, wide) REAL(balance, wide)        /* of a level over y; over x with its multipliers */ \
    /* A working set that changes row by row [GI83]: J' H J = 1, its normals are H J C; rows here, columns there. */ \
    REAL(J, n * wide) REAL(C, n * wide)             /* the first `size` rows of J belong to it; C is triangular */ \
    INTEGER(W, n) INTEGER(is_equality, n)           /* row of M, or -1: of the cost; whether it may not leave */ \
    INTEGER(in_W, m)                                /* of rows of M */ \
    REAL(u, wide) REAL(sign, wide)                  /* multipliers, 1 if a row pushes upwards */ \
    REAL(d, wide) REAL(dual_step, wide)             /* J' row; C^-1 d, the change of the multipliers */ \
    REAL(step, wide) REAL(x_kept, wide)             /* step of x; last point at which all classes hold that can */ \
    REAL(x_inside, wide)                            /* a point that violates no row outside of the working set */

struct solver {
    /* Sizes and settings, by the caller. */
    integer n;             /* unknowns */
    integer n_R, n_E, n_A; /* rows of R, E, A */
    integer levels;        /* of the cost */
    integer diagonal;      /* the level that weights and pulls belong to */
    integer classes;       /* the highest relaxation class */
    integer strict;        /* nonzero: levels are strict priorities */
    integer guesses;       /* active sets tried by `guess` */
    integer limit;         /* changes of the working set per search */
    double rank_tolerance; /* part of its length by which an equality of class 1 must differ from the others */
    /* The program, by the caller. */
    double *R, *r;                  /* rows of the levels and their targets: n_R x n, n_R */
    double *weights, *pulls;        /* diagonal part of the cost: n */
    double *regularisation;         /* positive: n */
    double *E, *e;                  /* equalities: n_E x n, n_E */
    double *A, *lower, *upper;      /* inequalities: n_A x n, n_A, n_A; infinite where there is no bound */
    integer *ends, *order;          /* rows of R, level after level: n_R; where each level ends among them: levels */
    integer *classes_E, *classes_A; /* relaxation class of each row: n_E, n_A */
    /* The warm start, read and written. */
    double *sides;     /* of rows of A: -1 or 1 in the working set at their lower or upper bound, else 0: n_A */
    integer *hints;    /* of each class: LIKELY if it was violated: classes + 1 */
    integer relaxed;   /* whether any was */
    double guess_rank; /* what counts as zero among the equalities of a guess, squared, in the sense of the cost */
    /* The results, written. */
    double *x;                                    /* n */
    double *multipliers_E, *multipliers_A;        /* n_E, n_A */
    double *excess_E, *excess_A;                  /* beyond a bound, positive above: n_E, n_A */
    double *values_E, *values_A;                  /* E x, A x */
    double stationarity, primal, complementarity; /* residuals, each by the size of its terms */
    integer tries;                                /* working sets that were solved */
    integer changes;                              /* of the working set, row by row */
    integer active;                               /* inequalities with a multiplier */
    integer dependent;                            /* equalities that others repeat */
    /* Everything below is private. */
    integer m, wide, tall;    /* n_E + n_A; n and m padded */
    integer size, dimension;  /* rows of W, rows of J */
    integer failed_class;     /* class that could not hold */
    integer has_inside;       /* whether x_inside is one */
    integer found;            /* whether what is solved was found by a search */
    integer dependent_rows;   /* equalities that others repeat, by their lengths */
    integer careful;          /* whether a cost in one sum is solved by its rows instead */
    integer lost_digits;      /* whether a Cholesky factor did */
    double searched;          /* largest residual of the levels that a search minimised */
    double size_of_cost;      /* 1 + x'Hx */
#define DECLARE_REAL(name, count) double *name;
#define DECLARE_INTEGER(name, count) integer *name;
    WORKSPACE(DECLARE_REAL, DECLARE_INTEGER)
};

/* --- Blocks of numbers: loops over rows run from the block that contains `start` to the end of that before `stop` - */

#ifdef __clang__
#define ANY_ORDER _Pragma("clang fp reassociate(on)")
#define VECTORS _Pragma("clang loop vectorize_width(8) interleave_count(1)")
#else
#define ANY_ORDER
#define VECTORS
#endif
#define FOR(i, start, stop) for (integer i = (start); i < (stop); ++i)
#define BLOCKS(j, start, stop) VECTORS FOR(j, block(start), padded(stop))
#define DOWN(i, start, stop) for (integer i = (stop) - 1; i >= (start); --i)
#define ROW(matrix, i) (s->matrix + (i) * s->wide)

static inline integer block(integer i) { return i & -LANES; }
static inline integer padded(integer n) { return block(n + LANES - 1); }

static inline void add(double *restrict to, double factor, const double *restrict row, integer start, integer stop) {
    BLOCKS(j, start, stop) to[j] += factor * row[j];
}
static inline void scale(double *row, double factor, integer start, integer stop) {
    BLOCKS(j, start, stop) row[j] *= factor;
}
static inline void copy(double *restrict to, const double *restrict row, integer stop) {
    BLOCKS(j, 0, stop) to[j] = row[j];
}
static inline void fill(double *row, double value, integer stop) { BLOCKS(j, 0, stop) row[j] = value; }

/* Returns the scalar product. One of the two must be zero in its blocks outside of start ... stop - 1. */
static inline double dot(const double *a, const double *b, integer start, integer stop) {
    ANY_ORDER
    double sum = 0.0;
    BLOCKS(j, start, stop) sum += a[j] * b[j];
    return sum;
}

static inline double sum_of_squares(const double *a, integer start, integer stop) {
    double sum = 0.0;
    FOR(k, start, stop) sum += a[k] * a[k];
    return sum;
}

/* Returns the larger number; NaN if either is NaN. */
static inline double larger(double a, double b) { return a > b || a != a ? a : b; }

/* Returns the largest absolute value; NaN if any is NaN. */
static inline double largest(const double *a, integer start, integer stop) {
    double most = 0.0;
    FOR(k, start, stop) most = larger(most, fabs(a[k]));
    return most;
}

static inline double length_of(const solver *s, const double *vector) { return sqrt(dot(vector, vector, 0, s->n)); }

static inline void clear_behind(const solver *s, double *row) { FOR(j, s->n, s->wide) row[j] = 0.0; }

static void copy_row(const solver *s, double *restrict to, const double *restrict row) {
    copy(to, row, s->n);
    clear_behind(s, to);
}

/* to = M vector, for all constraints; without sums across lanes. */
static void times_M(const solver *s, double *restrict to, const double *restrict vector) {
    for (integer i = 0; i < s->m; i += TALL) {
        double sum[TALL] = {0.0};
        FOR(j, 0, s->n) {
            const double *column = s->M_T + j * s->tall + i;
            VECTORS FOR(k, 0, TALL) sum[k] += vector[j] * column[k];
        }
        copy(to + i, sum, TALL);
    }
}

static inline void reflect_once(const solver *s, double *vector, integer c) {
    const double *v = ROW(reflector, c);
    add(vector, -(dot(vector, v, c, s->n) * s->beta[c]), v, c, s->n);
}

/* Turns a gradient over x into one over y. */
static void reflect(const solver *s, double *vector, integer count) { FOR(k, 0, count) reflect_once(s, vector, k); }

/* Turns coordinates y into unknowns x. */
static void reflect_back(const solver *s, double *vector, integer start, integer stop) {
    DOWN(k, start, stop) reflect_once(s, vector, k);
}

/* --- Rows of the constraints -------------------------------------------------------------------------------------- */

static inline integer is_equal(const solver *s, integer i) { return s->low[i] == s->high[i]; }

static inline integer has_side(const solver *s, integer i) { return !is_equal(s, i) && s->side[i] != 0.0; }

static inline double bound_at(const solver *s, integer i, double side) { return side > 0.0 ? s->high[i] : s->low[i]; }

/* Returns by how much row i violates a bound; negative if it does not. */
static inline double violation(const solver *s, integer i, double value) {
    return larger(value - s->high[i], s->low[i] - value);
}

/* Returns the side of the bound that is violated more, or is nearer. */
static inline double nearer_side(const solver *s, integer i, double value) {
    return value - s->high[i] > s->low[i] - value ? 1.0 : -1.0;
}

/* Returns the violation of row i that counts as zero where it has this value and x this length. */
static inline double tolerance_of(const solver *s, integer i, double value, double length) {
    double size = fabs(value) + 1.0;
    return (size + s->norm[i] * length * 0.4) * TOLERANCE + size * s->loose[i];
}

/* Returns the violation of row i that is not reported. */
static inline double unreported(const solver *s, integer i, double value, double length) {
    return larger(fabs(value), 1.0) * FEASIBLE + tolerance_of(s, i, value, length);
}

/* Returns the first class of which x violates a row, or classes + 1. NaN violates. */
static integer first_violated_class(solver *s) {
    double length = length_of(s, s->x);
    integer first = s->classes + 1;
    times_M(s, s->value, s->x);
    FOR(i, 0, s->m)
        if (s->of_class[i] < first && !(violation(s, i, s->value[i]) <= unreported(s, i, s->value[i], length)))
            first = s->of_class[i];
    return first;
}

/* --- Phase 1: guess the active set --------------------------------------------------------------------------------
 *
 * With U'U = H and C the rows of E and the active rows of A, with bounds c,
 *
 *     V = U^-T C',   y = U^-T f,   V'V lambda = -(c + V'y),   x = -U^-1 (y + V lambda),
 *
 * and x is the minimiser if no other row is violated and no multiplier has the wrong sign. Else rows of the wrong sign
 * leave and violated rows enter, a few times: a semi-smooth Newton step [HIK02]. The first column of V is y.
 */

/* H = R'R + weights + regularisation (upper part) and f = -R'r - pulls. */
static void sum_cost(solver *s) {
    integer n = s->n;
    fill(s->f, 0.0, s->wide);
    FOR(i, 0, n) {
        fill(ROW(H, i), 0.0, s->wide), ROW(H, i)[i] = s->weights[i] + s->regularisation[i];
        s->f[i] = -s->pulls[i];
    }
    FOR(k, 0, s->n_R) {
        const double *row = s->R + k * n;
        add(s->f, -s->r[k], row, 0, n);
        FOR(i, 0, n) add(ROW(H, i), row[i], row, i, n);
    }
    FOR(i, 0, n) clear_behind(s, ROW(H, i));
    clear_behind(s, s->f);
}

/* Factors H = U'U in place; NOT_CONVEX if a pivot is not positive. */
static integer factor_cost(solver *s) {
    FOR(k, 0, s->n) {
        double *row = ROW(H, k), pivot = row[k];
        if (!(pivot > 0.0)) return NOT_CONVEX;
        scale(row, 1.0 / sqrt(pivot), k, s->n);
        FOR(i, k + 1, s->n) add(ROW(H, i), -row[i], row, i, s->n);
    }
    return DONE;
}

/* Writes the columns of V: f, rows of E, active rows of A. Returns how many there are. */
static integer gather_columns(solver *s) {
    integer n = s->n, n_E = s->n_E, count = n_E + 1;
    FOR(i, 0, s->n_A) {
        double side = s->sides[i];
        integer active = (side > 0.5 && s->upper[i] < INFINITY) || (side < -0.5 && s->lower[i] > -INFINITY);
        s->sides[i] = active ? side : 0.0;
        if (active && count < n_E + 1 + n) s->guessed[count++ - n_E - 1] = i;
    }
    integer columns = padded(count);
    FOR(k, 0, n) fill(s->V + k * columns, 0.0, columns);
    FOR(c, 0, count) {
        const double *row = c == 0 ? s->f : c <= n_E ? s->E + (c - 1) * n : s->A + s->guessed[c - n_E - 1] * n;
        FOR(k, 0, n) s->V[k * columns + c] = row[k];
    }
    return count;
}

/* V <- U^-T V, all columns together. */
static void forward_substitute(solver *s, integer columns) {
    FOR(k, 0, s->n) {
        double *row = s->V + k * columns;
        scale(row, 1.0 / ROW(H, k)[k], 0, columns);
        FOR(j, k + 1, s->n) add(s->V + j * columns, -ROW(H, k)[j], row, 0, columns);
    }
}

/* Returns the bound of row i of A on a side. */
static inline double bound_of_A(const solver *s, integer i) { return s->sides[i] > 0.0 ? s->upper[i] : s->lower[i]; }

/* vector <- U^-1 vector, rows start ... stop - 1 of the upper triangle; unknowns without a pivot become zero. */
static void solve_upper(const double *matrix, double *vector, integer start, integer stop, integer stride) {
    DOWN(k, start, stop) {
        double total = vector[k], pivot = matrix[k * stride + k];
        FOR(i, k + 1, stop) total -= matrix[k * stride + i] * vector[i];
        vector[k] = pivot > 0.0 ? total / pivot : 0.0;
    }
}

/* Solves V'V lambda = -(c + V'y) into rhs. Columns that earlier ones repeat get lambda = 0. */
static void guess_multipliers(solver *s, integer count, integer columns) {
    double *S = s->S, *rhs = s->rhs;
    FOR(i, 0, count) fill(S + i * columns, 0.0, columns);
    FOR(k, 0, s->n) FOR(i, 0, count) add(S + i * columns, s->V[k * columns + i], s->V + k * columns, i, columns);
    fill(rhs, 0.0, columns);
    FOR(i, 1, count) {
        rhs[i] = -(S[i] + (i <= s->n_E ? s->e[i - 1] : bound_of_A(s, s->guessed[i - s->n_E - 1])));
        s->squares[i] = S[i * columns + i];
    }
    s->dependent = 0;
    FOR(k, 1, count) { /* Cholesky factor of S without its first row, and forward substitution */
        double *row = S + k * columns;
        integer keep = row[k] > s->squares[k] * (k <= s->n_E ? s->guess_rank : RANK_OF_GUESS);
        double inverse = keep ? 1.0 / sqrt(row[k]) : 0.0;
        s->dependent += !keep && k <= s->n_E;
        scale(row, inverse, k, columns);
        rhs[k] *= inverse;
        FOR(i, k + 1, count) add(S + i * columns, -row[i], row, i, columns), rhs[i] -= row[i] * rhs[k];
    }
    solve_upper(S, rhs, 1, count, columns);
    rhs[0] = 1.0;
}

/* x = -U^-1 (y + V lambda), and values of the rows of A. */
static void guess_unknowns(solver *s, integer columns) {
    fill(s->x, 0.0, s->wide);
    DOWN(k, 0, s->n) {
        double y = dot(s->V + k * columns, s->rhs, 0, columns);
        s->x[k] = -(y + dot(ROW(H, k), s->x, k, s->n)) / ROW(H, k)[k];
    }
    FOR(i, 0, s->n_A) s->values_A[i] = dot(s->A + i * s->n, s->x, 0, s->n);
}

/* Drops rows of the wrong sign, all of them or only the first. Returns how many. */
static integer drop_wrong_signs(solver *s, integer count, integer one_by_one) {
    double nothing = largest(s->rhs, 1, count) * -NOISE_OF_GUESS;
    integer dropped = 0;
    FOR(i, 0, s->n_A) s->multipliers_A[i] = 0.0;
    FOR(c, s->n_E + 1, count) {
        integer i = s->guessed[c - s->n_E - 1];
        integer drop = s->rhs[c] * s->sides[i] < nothing && (!one_by_one || dropped == 0);
        s->multipliers_A[i] = drop ? 0.0 : s->rhs[c];
        s->sides[i] = drop ? 0.0 : s->sides[i];
        dropped += drop;
    }
    return dropped;
}

/* Lets violated rows enter, all of them or only the worst, and that only if none was dropped. Returns how many are. */
static integer enter_violated(solver *s, integer one_by_one, integer dropped) {
    integer wrong = 0, place = -1;
    double worst = 0.0, side_of_worst = 0.0;
    FOR(i, 0, s->n_A) {
        double value = s->values_A[i], over = value - s->upper[i], under = s->lower[i] - value;
        double beyond = over > under ? over : under, side = over > under ? 1.0 : -1.0;
        integer is_free = s->sides[i] == 0.0 && s->multipliers_A[i] == 0.0;
        if (!is_free || !(beyond > (fabs(value) + 1.0) * GUESS_TOLERANCE)) continue;
        if (!one_by_one) s->sides[i] = side, ++wrong;
        else if (beyond > worst) worst = beyond, place = i, side_of_worst = side;
    }
    if (place >= 0 && dropped == 0) s->sides[place] = side_of_worst;
    return wrong + (place >= 0);
}

/* Residuals of the program as it was given: stationarity from R, not from the factor. */
static void certify_guess(solver *s, integer count) {
    integer n = s->n, n_E = s->n_E;
    double primal = 0.0, gap = 0.0, size = larger(1.0, largest(s->f, 0, n)), *g = s->gradient;
    fill(g, 0.0, s->wide);
    FOR(i, 0, n) g[i] = (s->weights[i] + s->regularisation[i]) * s->x[i] - s->pulls[i];
    FOR(k, 0, s->n_R) add(g, dot(s->R + k * n, s->x, 0, n) - s->r[k], s->R + k * n, 0, n);
    FOR(c, 0, n_E) {
        s->multipliers_E[c] = s->rhs[c + 1];
        s->values_E[c] = dot(s->E + c * n, s->x, 0, n);
        add(g, s->rhs[c + 1], s->E + c * n, 0, n);
        primal = larger(primal, fabs(s->values_E[c] - s->e[c]) / larger(fabs(s->e[c]), 1.0));
    }
    FOR(c, n_E + 1, count) {
        integer i = s->guessed[c - n_E - 1];
        double off = fabs(s->values_A[i] - bound_of_A(s, i));
        add(g, s->rhs[c], s->A + i * n, 0, n);
        primal = larger(primal, off / larger(fabs(s->values_A[i]), 1.0));
        gap = larger(gap, fabs(off * s->rhs[c]));
    }
    FOR(i, 0, s->n_A) {
        double value = s->values_A[i], beyond = larger(value - s->upper[i], s->lower[i] - value);
        primal = larger(primal, beyond / larger(fabs(value), 1.0));
    }
    s->stationarity = largest(g, 0, n) / size, s->primal = primal, s->complementarity = gap / size;
}

static double worst_residual(const solver *s) { return larger(s->stationarity, larger(s->primal, s->complementarity)); }

/* Solves a few active sets, the first from `sides`. DONE with all results, NOT_FOUND, NOT_CONVEX, or FAR. */
static integer guess(solver *s) {
    sum_cost(s);
    if (factor_cost(s) != DONE) return NOT_CONVEX;
    FOR(k, 0, s->guesses) {
        integer count = gather_columns(s), columns = padded(count), one_by_one = k >= s->guesses / 2;
        forward_substitute(s, columns);
        guess_multipliers(s, count, columns);
        guess_unknowns(s, columns);
        integer dropped = drop_wrong_signs(s, count, one_by_one);
        integer wrong = dropped + enter_violated(s, one_by_one, dropped);
        if (wrong > MANY_WRONG) return FAR;
        if (wrong > 0) continue;
        certify_guess(s, count);
        s->tries = k + 1, s->active = count - s->n_E - 1;
        return DONE;
    }
    return NOT_FOUND;
}

/* --- Least squares, level after level -----------------------------------------------------------------------------
 *
 * What the rows of one level leave free is for the next. Unknowns are turned, x = Q y, by one reflection for each row
 * that decides something: the rows become lower triangular, row by row, the longest first. A row of which the earlier
 * reflections leave nothing decides nothing. Within a level, pivot rows L and the other rows N = F L are solved
 * together,
 *
 *     minimise |z - b1|^2 + |F z - b2|^2  over  z = L y:     (1 + F F') nu = b2 - F b1,   z = b1 + F' nu,
 *
 * which is as well conditioned as F is small [PW70], and gives nu = 0 where the rows agree.
 */

/* Describes row t of T: where it comes from, its aim, the square of its length. */
static void describe_row(solver *s, integer t, integer origin, double aim, double square) {
    s->origin[t] = origin, s->aim[t] = aim, s->squared[t] = square, s->is_pivot[t] = 0;
}

/* to += factor times row t as it was given. */
static void add_original_row(const solver *s, double *to, double factor, integer t) {
    integer origin = s->origin[t], unknown = -1 - s->n_R - origin;
    if (origin >= 0) add(to, factor, ROW(M, origin), 0, s->n);
    else if (unknown < 0) add(to, factor, s->R + (-1 - origin) * s->n, 0, s->n);
    else to[unknown] += factor * sqrt(s->squared[t]);
}

/* Returns the row among t0 ... t1 - 1 of which most is left, or -1. */
static integer longest_row(const solver *s, integer t0, integer t1) {
    integer best = -1;
    double most = 0.0;
    FOR(t, t0, t1) if (!s->is_pivot[t] && s->left[t] > most) best = t, most = s->left[t];
    return best;
}

/* Makes row t a pivot: a reflection turns what is left of it, with this squared length, into coordinate c. */
static void make_pivot(solver *s, integer t, integer c, double square, integer t0, integer total) {
    double *row = ROW(T, t), *v = ROW(reflector, c);
    double length = sqrt(square), head = v[c], end = head > 0.0 ? -length : length;
    v[c] = head - end, s->beta[c] = 1.0 / (square + fabs(head) * length);
    FOR(j, c, s->n) row[j] = 0.0;
    row[c] = end, s->is_pivot[t] = 1, s->pivot[c] = t;
    FOR(k, t0, total) {
        if (s->is_pivot[k]) continue;
        reflect_once(s, ROW(T, k), c);
        s->left[k] -= ROW(T, k)[c] * ROW(T, k)[c];
    }
}

/*
 * Turns coordinates from c on until the rows t0 ... t1 - 1 of T are triangular; returns the next coordinate.
 *
 * All rows up to `total` that are no pivots take part in the reflections. What is left of a row counts if it is longer
 * than `rank` times the row.
 */
static integer factor_level(solver *s, integer t0, integer t1, integer total, integer c, double rank) {
    FOR(t, t0, t1) {
        s->left[t] = s->squared[t];
        FOR(j, 0, c) s->left[t] -= ROW(T, t)[j] * ROW(T, t)[j];
    }
    FOR(k, t0, t1) {
        integer best = longest_row(s, t0, t1);
        if (best < 0 || c >= s->n) break;
        double *v = ROW(reflector, c);
        fill(v, 0.0, s->wide);
        FOR(j, c, s->n) v[j] = ROW(T, best)[j];
        double square = dot(v, v, c, s->n);
        if (square > s->squared[best] * (rank * rank)) make_pivot(s, best, c++, square, t0, total);
        else s->left[best] = 0.0;
    }
    return c;
}

/* Writes one row of F: row = F L over the coordinates c0 ... c1 - 1 of the level. */
static void multiples_of_pivots(const solver *s, double *to, const double *row, integer c0, integer c1) {
    fill(to, 0.0, s->wide);
    FOR(k, c0, c1) to[k] = row[k];
    DOWN(k, c0, c1) {
        const double *pivot = ROW(T, s->pivot[k]);
        double multiple = to[k] / pivot[k];
        add(to, -multiple, pivot, c0, k);
        to[k] = multiple;
    }
    FOR(k, block(c0), c0) to[k] = 0.0;
}

/* vector <- matrix^-1 vector for rows and columns from `start` on; the upper part of the matrix becomes its factor. */
static void cholesky_solve(solver *s, double *matrix, double *vector, integer start, integer stop, integer stride) {
    FOR(k, start, stop) s->left[k] = matrix[k * stride + k];
    FOR(k, start, stop) {
        double *row = matrix + k * stride, pivot = row[k];
        FOR(j, stop, stride) row[j] = 0.0;
        if (!(pivot > s->left[k] * LOST_DIGITS)) s->lost_digits = 1;
        double inverse = pivot > s->left[k] * ROUNDING ? 1.0 / sqrt(pivot) : 0.0;
        scale(row, inverse, k, stop);
        vector[k] *= inverse;
        FOR(i, k + 1, stop) add(matrix + i * stride, -row[i], row, i, stop), vector[i] -= row[i] * vector[k];
    }
    solve_upper(matrix, vector, start, stop, stride);
}

/* Shares what the spare rows say against the pivots among all rows of the level: nu, and its part of b. */
static void share_disagreement(solver *s, integer count, integer c0, integer c1) {
    integer stride = padded(count);
    FOR(a, 0, count) {
        double *row = ROW(F, a), *column = s->small + a;
        multiples_of_pivots(s, row, ROW(T, s->spare[a]), c0, c1);
        s->delta[a] = s->deviation[s->spare[a]] - dot(row, s->b, c0, c1);
        FOR(k, 0, a + 1) column[k * stride] = dot(row, ROW(F, k), c0, c1);
        column[a * stride] += 1.0;
    }
    FOR(a, count, stride) s->delta[a] = 0.0;
    cholesky_solve(s, s->small, s->delta, 0, count, stride);
    FOR(a, 0, count) {
        s->deviation[s->spare[a]] = -s->delta[a];
        FOR(k, c0, c1) {
            double share = ROW(F, a)[k] * s->delta[a];
            s->b[k] += share, s->deviation[s->pivot[k]] += share;
        }
    }
}

/* Solves coordinates c0 ... c1 - 1 of y from the rows t0 ... t1 - 1, and their deviations. */
static void fit_level(solver *s, integer t0, integer t1, integer c0, integer c1) {
    integer count = 0;
    double *own = s->scratch;
    fill(s->b, 0.0, s->wide);
    FOR(t, t0, t1) {
        s->deviation[t] = s->aim[t] - dot(ROW(T, t), s->y, 0, s->n);
        if (!s->is_pivot[t]) s->spare[count++] = t;
    }
    FOR(k, c0, c1) s->b[k] = s->deviation[s->pivot[k]], s->deviation[s->pivot[k]] = 0.0;
    if (count > 0) share_disagreement(s, count, c0, c1);
    fill(own, 0.0, s->wide);
    FOR(k, c0, c1) {
        const double *row = ROW(T, s->pivot[k]);
        own[k] = (s->b[k] - dot(row, own, c0, s->n)) / row[k];
    }
    FOR(k, c0, c1) s->y[k] = own[k];
}

/* --- Phase 2: all constraints as one set, and equalities that depend on each other -------------------------------- */

/* Writes row i of M: low <= row x <= high; bounds that cross become the middle between them. */
static void write_constraint(solver *s, integer i, const double *row, double low, double high, integer of_class) {
    double middle = (low + high) * 0.5;
    copy_row(s, ROW(M, i), row);
    s->low[i] = low > high ? middle : low, s->high[i] = low > high ? middle : high;
    s->norm[i] = length_of(s, ROW(M, i)), s->of_class[i] = of_class, s->loose[i] = 0.0;
}

/* Leaves of row t, and of its row of M, what the first `rank` coordinates say. Its class shares what it cannot have. */
static void make_dependent(solver *s, integer t, integer rank, double tolerance) {
    integer i = s->origin[t];
    ++s->dependent_rows;
    FOR(j, rank, s->n) ROW(T, t)[j] = 0.0;
    reflect_back(s, ROW(T, t), 0, rank);
    copy(ROW(M, i), ROW(T, t), s->n);
    FOR(k, 0, s->n_E) if (s->of_class[k] == s->of_class[i]) s->loose[k] = tolerance;
}

/*
 * Truncates equalities that others repeat but for a part of their length: they lose that rest, and repeat the others
 * exactly. The part is rank_tolerance for class 1, such as contacts, and RANK_OF_EQUALITY for all others.
 *
 * What such a row asks for beyond the others could only be had by unknowns that are 1 / rank_tolerance times larger.
 */
static void truncate_equalities(solver *s) {
    integer total = 0, rank = 0;
    s->dependent_rows = 0;
    FOR(c, 0, s->classes + 1) {
        s->first_row[c] = total;
        FOR(i, 0, s->n_E) {
            if (s->of_class[i] != c) continue;
            copy(ROW(T, total), ROW(M, i), s->n);
            describe_row(s, total++, i, s->e[i], s->norm[i] * s->norm[i]);
        }
    }
    s->first_row[s->classes + 1] = total;
    FOR(c, 0, s->classes + 1) {
        double tolerance = c == 1 ? s->rank_tolerance : RANK_OF_EQUALITY;
        rank = factor_level(s, s->first_row[c], s->first_row[c + 1], s->n_E, rank, tolerance);
        FOR(t, s->first_row[c], s->first_row[c + 1]) if (!s->is_pivot[t]) make_dependent(s, t, rank, tolerance);
    }
}

/* Writes all constraints and their sides. DONE, NOT_FINITE or NOT_CONVEX. */
static integer prepare(solver *s) {
    double finite = 0.0; /* NaN as soon as a number is not finite */
    FOR(i, 0, s->n_E) {
        write_constraint(s, i, s->E + i * s->n, s->e[i], s->e[i], s->classes_E[i]);
        s->side[i] = 1.0;
        finite += (s->norm[i] + s->e[i]) * 0.0;
    }
    FOR(k, 0, s->n_A) {
        double low = s->lower[k], high = s->upper[k], side = s->sides[k];
        integer i = s->n_E + k, bounded = (side > 0.0 && high < INFINITY) || (side < 0.0 && low > -INFINITY);
        if (!(low < INFINITY && high > -INFINITY)) return NOT_FINITE;
        write_constraint(s, i, s->A + k * s->n, low, high, s->classes_A[k]);
        s->side[i] = is_equal(s, i) ? 1.0 : bounded ? side : 0.0;
        finite += s->norm[i] * 0.0;
    }
    FOR(k, 0, s->n_R) {
        copy_row(s, s->scratch, s->R + k * s->n);
        s->norm_R[k] = length_of(s, s->scratch);
        finite += (s->norm_R[k] + s->r[k]) * 0.0;
    }
    FOR(i, 0, s->n) {
        finite += (s->weights[i] + s->regularisation[i] + s->pulls[i]) * 0.0;
        if (s->regularisation[i] <= 0.0 || s->weights[i] < 0.0) return NOT_CONVEX;
    }
    if (finite != 0.0) return NOT_FINITE;
    truncate_equalities(s);
    FOR(j, 0, s->n) {
        fill(s->M_T + j * s->tall, 0.0, s->tall);
        FOR(i, 0, s->m) s->M_T[j * s->tall + i] = ROW(M, i)[j];
    }
    s->guess_rank = s->dependent_rows > 0 ? s->rank_tolerance * s->rank_tolerance : RANK_OF_GUESS;
    return DONE;
}

/* --- Phase 2: the lexicographic optimum for a given working set ---------------------------------------------------
 *
 * Rows of E and the rows of A with a side, whose bound on that side is the aim, are least squares in the order of their
 * classes. The levels of the cost follow. After a search, what it found of violations and of levels but the last is the
 * aim instead. What no level decides minimises the tail: with strict priorities the regularisation alone, else the only
 * level and the regularisation in one sum, which is positive definite.
 */

/* Returns whether the levels of the cost are rows: if strict, and where their sum is too badly conditioned. */
static inline integer cost_by_rows(const solver *s) { return s->strict > 0 || s->careful; }

/* Returns how many levels are rows: classes of constraints, and the levels of the cost if so. */
static inline integer levels_by_rows(const solver *s) { return s->classes + 1 + (cost_by_rows(s) ? s->levels : 0); }

/* Returns the weight of the square of an unknown, with the regularisation if all levels are one sum. */
static inline double weight_of(const solver *s, integer i) {
    return s->weights[i] + (s->strict > 0 ? 0.0 : s->regularisation[i]);
}

/* Returns whether a search found what a level of the cost can reach: its values at x_kept. */
static inline integer is_found(const solver *s, integer level) { return s->found && level < s->levels - 1; }

/* Writes the rows of the working set into T, class after class. Returns how many rows T has. */
static integer gather_working_set(solver *s) {
    integer total = 0;
    FOR(c, 0, s->classes + 1) {
        s->first_row[c] = total;
        FOR(i, 0, s->m) {
            if (s->of_class[i] != c || s->side[i] == 0.0) continue;
            double aim = s->found && s->fixed[i] ? s->target[i] : bound_at(s, i, s->side[i]);
            copy(ROW(T, total), ROW(M, i), s->n);
            describe_row(s, total++, i, aim, s->norm[i] * s->norm[i]);
        }
    }
    return total;
}

/* Appends the weights of single unknowns to T, as rows of their level. Returns how many rows T has. */
static integer gather_weights(solver *s, integer total) {
    FOR(i, 0, s->n) {
        double weight = weight_of(s, i), root = sqrt(weight);
        if (!(weight > 0.0)) continue;
        fill(ROW(T, total), 0.0, s->wide), ROW(T, total)[i] = root;
        double aim = is_found(s, s->diagonal) ? s->x_kept[i] * root : s->pulls[i] / root;
        describe_row(s, total++, -1 - s->n_R - i, aim, weight);
    }
    return total;
}

/* Appends the levels of the cost to T. Returns how many rows T has. */
static integer gather_cost(solver *s, integer total) {
    integer k = 0;
    FOR(level, 0, s->levels) {
        s->first_row[s->classes + 1 + level] = total;
        for (; k < s->ends[level]; ++k) {
            integer at = s->order[k];
            double aim = is_found(s, level) ? dot(s->x_kept, s->R + at * s->n, 0, s->n) : s->r[at];
            copy_row(s, ROW(T, total), s->R + at * s->n);
            describe_row(s, total++, -1 - at, aim, s->norm_R[at] * s->norm_R[at]);
        }
        if (cost_by_rows(s) && level == s->diagonal) total = gather_weights(s, total);
    }
    s->first_row[s->classes + 1 + s->levels] = total;
    return total;
}

/* Writes Z, the coordinates from c on as directions of x, and adds the diagonal cost along them to F and b. */
static void gather_free_directions(solver *s, integer c) {
    integer n = s->n;
    FOR(i, 0, n) s->scratch[i] = s->pull[i] - s->D[i] * s->x[i];
    clear_behind(s, s->scratch);
    FOR(j, c, n) {
        fill(ROW(Z, j), 0.0, s->wide), ROW(Z, j)[j] = 1.0;
        reflect_back(s, ROW(Z, j), 0, c);
        s->b[j] += dot(ROW(Z, j), s->scratch, 0, n);
    }
    FOR(j, c, n) {
        FOR(i, 0, s->wide) s->gradient[i] = s->D[i] * ROW(Z, j)[i];
        FOR(k, c, j + 1) ROW(F, k)[j] += dot(s->gradient, ROW(Z, k), 0, n);
    }
}

/* Coordinates from c on: minimise 1/2 sum D x^2 - pull'x + 1/2 |rows t0 ... t1 - 1 minus their aims|^2. */
static void minimise_tail(solver *s, integer t0, integer t1, integer c) {
    integer n = s->n;
    FOR(i, 0, n) {
        s->D[i] = !cost_by_rows(s) ? weight_of(s, i) : s->strict > 0 ? s->regularisation[i] : 0.0;
        s->pull[i] = cost_by_rows(s) ? 0.0 : s->pulls[i];
    }
    fill(s->b, 0.0, s->wide);
    FOR(j, c, n) fill(ROW(F, j), 0.0, s->wide);
    FOR(t, t0, t1) {
        add(s->b, s->aim[t] - dot(ROW(T, t), s->y, 0, n), ROW(T, t), 0, n);
        FOR(j, c, n) add(ROW(F, j), ROW(T, t)[j], ROW(T, t), j, n);
    }
    gather_free_directions(s, c);
    cholesky_solve(s, s->F, s->b, c, n, s->wide);
    FOR(j, c, n) s->y[j] = s->b[j], add(s->x, s->b[j], ROW(Z, j), 0, n);
    FOR(t, t0, t1) s->deviation[t] = dot(ROW(T, t), s->y, 0, n) - s->aim[t];
}

/* Computes x for the sides as they are, the deviations of all rows of T, and the values of all constraints. */
static void solve_working_set(solver *s) {
    integer total = gather_cost(s, gather_working_set(s)), levels = levels_by_rows(s), c = 0;
    fill(s->y, 0.0, s->wide);
    FOR(k, 0, levels) {
        integer t0 = s->first_row[k], t1 = s->first_row[k + 1], c0 = s->first_coordinate[k] = c;
        if (t1 <= t0) continue;
        c = factor_level(s, t0, t1, total, c0, RANK_OF_LEVEL);
        fit_level(s, t0, t1, c0, c);
    }
    s->first_coordinate[levels] = c;
    copy(s->x, s->y, s->n);
    reflect_back(s, s->x, 0, c);
    minimise_tail(s, s->first_row[levels], total, c);
    times_M(s, s->value, s->x);
}

/* --- Phase 2: the signs of the multipliers ------------------------------------------------------------------------
 *
 * At level k the deviations of its rows are balanced by the levels above: sum deviation_t row_t + sum lambda_p row_p =
 * 0, one lambda for each pivot. A row of A holds rightly if the first of its numbers that is not zero (its own
 * deviation, then its lambda of each level below) has the sign of its side: then it must hold, whatever the levels
 * below say. With the other sign its level would be better off without it. The residual of every level's balance, over
 * x and from the rows as they were given, is the certificate.
 */

/* The row that is most wrong so far; -1 if none is. */
struct worst {
    integer row;
    double size;
};

/* Drops rows of A that others repeat and that agree with them: they need not be in the working set. */
static void drop_repeated(solver *s, double length) {
    FOR(t, 0, s->first_row[s->classes + 1]) {
        integer i = s->origin[t], agrees = fabs(s->deviation[t]) <= tolerance_of(s, i, s->aim[t], length);
        if (!s->is_pivot[t] && agrees && !is_equal(s, i) && !s->decided[i]) s->side[i] = 0.0;
    }
}

/* Returns whether level k is not met; the tail never is. */
static integer is_missed(const solver *s, integer k, integer tail, double length) {
    if (k == tail) return 1;
    FOR(t, s->first_row[k], s->first_row[k + 1]) {
        double reach = fabs(s->aim[t]) + sqrt(s->squared[t]) * length;
        double nothing = k <= s->classes ? tolerance_of(s, s->origin[t], s->aim[t], length) : reach * NOISE_OF_COST;
        if (!(fabs(s->deviation[t]) <= nothing)) return 1;
    }
    return 0;
}

/* Writes sum deviation_t row_t of level k over y, `gradient`, and over x, `balance`. Returns the size of its terms. */
static double gradient_of_level(solver *s, integer k, integer tail, double length) {
    integer last = k == tail ? s->first_row[s->classes + 1 + s->levels] : s->first_row[k + 1];
    double size = 0.0;
    fill(s->gradient, 0.0, s->wide), fill(s->balance, 0.0, s->wide);
    if (k == tail) {
        FOR(i, 0, s->n) {
            s->balance[i] = s->D[i] * s->x[i] - s->pull[i];
            size = larger(larger(size, fabs(s->D[i] * s->x[i])), fabs(s->pull[i]));
        }
        copy(s->gradient, s->balance, s->n);
        reflect(s, s->gradient, s->first_coordinate[k]);
    }
    FOR(t, s->first_row[k], last) {
        double norm = sqrt(s->squared[t]), rounding = (fabs(s->aim[t]) + norm * length) * 1e-3;
        add(s->gradient, s->deviation[t], ROW(T, t), 0, s->n);
        add_original_row(s, s->balance, s->deviation[t], t);
        size = larger(size, (fabs(s->deviation[t]) + rounding) * norm);
    }
    return size;
}

/*
 * Judges row i, which nobody above decided, by its number at this level. It is wrong if the number has the wrong sign
 * by more than `most`; else it is decided if there is more than `none` of it. A row whose influence is all but nothing
 * is better kept: without it, its level would go very far for that nothing.
 */
static void judge(solver *s, integer i, double number, double none, double most, integer by, struct worst *worst) {
    double outward = number * s->side[i], size = -(outward * s->norm[i]);
    if (s->decided[i]) return;
    if (outward < -most && size > worst->size) worst->row = i, worst->size = size;
    if (outward >= -most && fabs(outward) > none) s->decided[i] = by, s->multiplier[i] = number;
}

/* Judges the rows of class k by their own deviations. */
static void judge_deviations(solver *s, integer k, double length, struct worst *worst) {
    FOR(t, s->first_row[k], s->first_row[k + 1]) {
        integer i = s->origin[t];
        double tolerance = tolerance_of(s, i, s->aim[t], length);
        if (has_side(s, i)) judge(s, i, s->deviation[t], tolerance, tolerance, BY_CLASS, worst);
    }
}

/* Computes lambda of the pivots above level k and judges their rows; what is left of the gradient is a residual. */
static void balance_level(solver *s, integer k, integer tail, double size, struct worst *worst) {
    integer is_class = k <= s->classes, in_one_sum = !is_class && s->strict <= 0;
    double coarse = k == tail || in_one_sum ? TOLERANCE : WRONG;
    DOWN(c, 0, s->first_coordinate[k]) {
        integer t = s->pivot[c], i = s->origin[t];
        double lambda = -s->gradient[c] / ROW(T, t)[c];
        add(s->gradient, lambda, ROW(T, t), 0, c);
        add_original_row(s, s->balance, lambda, t);
        if (i < 0) continue;
        double unit = size / s->norm[i];
        if (has_side(s, i)) judge(s, i, lambda, unit * NOISE, unit * coarse, is_class ? BY_CLASS : BY_COST, worst);
        if (in_one_sum && size > 0.0) s->multiplier[i] = lambda;
    }
    s->stationarity = larger(s->stationarity, largest(s->balance, 0, s->n) / larger(size, 1.0));
}

/*
 * Returns the row of M that is most wrong at the first level that has one, or -1 if all signs are right.
 *
 * `stationarity` becomes the largest residual of the levels. Rows that others repeat lose their sides.
 */
static integer check_signs(solver *s) {
    double length = length_of(s, s->x);
    struct worst worst = {-1, 0.0};
    integer tail = levels_by_rows(s);
    FOR(i, 0, s->m) {
        integer searched = s->found && s->fixed[i];
        s->decided[i] = searched ? BY_CLASS : 0;
        s->multiplier[i] = searched && s->strict > 0 ? s->found_multiplier[i] : 0.0;
    }
    drop_repeated(s, length);
    s->stationarity = 0.0;
    for (integer k = 0; k <= tail && worst.row < 0; ++k) {
        if (!is_missed(s, k, tail, length)) continue;
        double size = gradient_of_level(s, k, tail, length);
        if (k <= s->classes) judge_deviations(s, k, length, &worst);
        balance_level(s, k, tail, size, &worst);
    }
    return worst.row;
}

/* --- Phase 2: from a working set that is nearly right -------------------------------------------------------------
 *
 * Rows that the optimum of the working set violates enter, until there is a point that violates none. From there on it
 * is the primal method: the row that is most wrong leaves, and the way to the new optimum ends where it would violate a
 * row, which enters. Every step is exact, and costs a whole factorisation.
 */

/* Lets rows enter that x violates. Returns how many. */
static integer enter_all_violated(solver *s) {
    double length = length_of(s, s->x);
    integer count = 0;
    FOR(i, s->n_E, s->m) {
        double value = s->value[i];
        if (s->side[i] != 0.0 || !(violation(s, i, value) > tolerance_of(s, i, value, length))) continue;
        s->side[i] = nearer_side(s, i, value);
        ++count;
    }
    return count;
}

/* Returns the row that ends the way from x_inside to x, of a corner the steepest, or -1. `share` is the part gone. */
static integer first_met(const solver *s, double *share) {
    double length = length_of(s, s->x), least = 1.0, steepest = 0.0;
    integer row = -1;
    *share = 1.0;
    FOR(pass, 0, 2) FOR(i, s->n_E, s->m) {
        double beyond = violation(s, i, s->value[i]), tolerance = tolerance_of(s, i, s->value[i], length);
        if (s->side[i] != 0.0 || !(beyond > tolerance)) continue;
        double way = fabs(s->value[i] - dot(ROW(M, i), s->x_inside, 0, s->n)), part = (way - beyond) / way;
        double relaxed = part + tolerance * SLACK / way;
        if (pass == 0) least = relaxed < least ? relaxed : least;
        else if (part <= least && way / s->norm[i] > steepest)
            row = i, steepest = way / s->norm[i], *share = larger(part, 0.0);
    }
    return row;
}

/* Solves the working set; once more by the rows of its cost where their sum has lost its digits. */
static void solve_carefully(solver *s) {
    ++s->tries, s->lost_digits = 0;
    solve_working_set(s);
    if (!s->lost_digits || s->strict > 0 || s->careful) return;
    s->careful = 1;
    solve_working_set(s);
}

/* DONE where a working set has the right signs, NOT_FOUND after `tries`. */
static integer settle(solver *s, integer tries) {
    s->has_inside = 0;
    FOR(k, 0, tries) {
        solve_carefully(s);
        if (!s->has_inside) {
            integer entered = enter_all_violated(s);
            if (entered > MANY_ENTER && !s->found) return NOT_FOUND;
            if (entered > 0) continue;
            s->has_inside = 1;
            copy(s->x_inside, s->x, s->n);
        }
        double share;
        integer row = first_met(s, &share);
        FOR(i, 0, s->n) s->x_inside[i] += (s->x[i] - s->x_inside[i]) * share;
        integer wrong = row < 0 ? check_signs(s) : -1;
        if (row >= 0) s->side[row] = s->value[row] > s->high[row] ? 1.0 : -1.0;
        else if (wrong >= 0) s->side[wrong] = 0.0;
        else return s->stationarity < INFINITY ? DONE : NOT_FOUND;
    }
    return NOT_FOUND;
}

/* --- Phase 3: a working set that changes row by row [GI83] --------------------------------------------------------
 *
 * The first `size` rows of J belong to the rows of the working set W, with the triangular C; the others span what W
 * leaves free. Entering and leaving cost of the order of n^2 each.
 */

static void empty_working_set(solver *s, integer dimension) {
    s->size = 0, s->dimension = dimension;
    FOR(i, 0, s->m) s->in_W[i] = 0;
}

/* d = factor J' row */
static void coordinates(solver *s, const double *row, double factor) {
    FOR(k, 0, s->dimension) s->d[k] = dot(ROW(J, k), row, 0, s->n) * factor;
}

/* to <- C^-1 to, for the rows of the working set. */
static void back_substitute(const solver *s, double *to) {
    DOWN(k, 0, s->size) {
        double value = to[k] / ROW(C, k)[k];
        add(to, -value, ROW(C, k), 0, k);
        to[k] = value;
    }
}

/* Returns the squared length of what the working set leaves of d, or 0 if that is rounding. */
static double free_part(const solver *s) {
    double rest = sum_of_squares(s->d, s->size, s->dimension), whole = sum_of_squares(s->d, 0, s->size) + rest;
    return rest > whole * RANK_TO_ENTER * RANK_TO_ENTER ? rest : 0.0;
}

/* Makes the row with coordinates d the last of the working set: a reflection of the free rows of J. */
static void enter(solver *s, integer row, integer is_equality, double sign, double multiplier) {
    integer q = s->size;
    double square = sum_of_squares(s->d, q, s->dimension), length = sqrt(square), head = s->d[q];
    double end = head > 0.0 ? -length : length, beta = 1.0 / (square + fabs(head) * length);
    s->d[q] = head - end;
    fill(s->step, 0.0, s->wide);
    FOR(k, q, s->dimension) add(s->step, s->d[k], ROW(J, k), 0, s->n);
    FOR(k, q, s->dimension) add(ROW(J, k), -(beta * s->d[k]), s->step, 0, s->n);
    fill(ROW(C, q), 0.0, s->wide);
    FOR(k, 0, q) ROW(C, q)[k] = s->d[k];
    ROW(C, q)[q] = end;
    s->W[q] = row, s->is_equality[q] = is_equality, s->sign[q] = sign, s->u[q] = multiplier;
    if (row >= 0) s->in_W[row] = 1;
    s->size = q + 1;
}

/* Lets row i of M enter if the working set leaves something of it. */
static void enter_if_independent(solver *s, integer i, integer is_equality, double sign) {
    coordinates(s, ROW(M, i), sign);
    if (free_part(s) > 0.0) enter(s, i, is_equality, sign, 0.0);
}

/* Rotates rows k and k + 1 of J and of the columns of C, so that column k of C ends at row k. */
static void rotate(solver *s, integer k, integer last) {
    double a = ROW(C, k)[k], b = ROW(C, k)[k + 1], length = sqrt(a * a + b * b), cosine = a / length, sine = b / length;
    FOR(j, k, last) {
        double *column = ROW(C, j), upper = column[k], lower = column[k + 1];
        column[k] = cosine * upper + sine * lower;
        column[k + 1] = cosine * lower - sine * upper;
    }
    copy(s->step, ROW(J, k), s->n);
    scale(ROW(J, k), cosine, 0, s->n), add(ROW(J, k), sine, ROW(J, k + 1), 0, s->n);
    scale(ROW(J, k + 1), cosine, 0, s->n), add(ROW(J, k + 1), -sine, s->step, 0, s->n);
}

/* Removes member `at` of the working set. */
static void leave(solver *s, integer at) {
    integer last = s->size - 1;
    s->in_W[s->W[at]] = 0;
    FOR(k, at, last) {
        copy(ROW(C, k), ROW(C, k + 1), s->n);
        s->W[k] = s->W[k + 1], s->is_equality[k] = s->is_equality[k + 1];
        s->u[k] = s->u[k + 1], s->sign[k] = s->sign[k + 1];
    }
    FOR(k, at, last) rotate(s, k, last);
    s->size = last;
}

/* Returns the inequality whose multiplier falls to zero first along dual_step, or -1. `most` is the step at that. */
static integer first_to_leave(const solver *s, double *most) {
    double nothing = largest(s->dual_step, 0, s->size) * SMALL_CHANGE;
    integer at = -1;
    *most = INFINITY;
    FOR(k, 0, s->size) {
        if (s->is_equality[k] || !(s->dual_step[k] > nothing)) continue;
        if (s->u[k] / s->dual_step[k] < *most) at = k, *most = s->u[k] / s->dual_step[k];
    }
    return at;
}

/*
 * Brings row i to target[i], upwards or downwards: the step of the dual method. Rows leave whose multipliers would get
 * the wrong sign. DONE, CONFLICT where nothing can bring it there, or LIMIT.
 *
 * A row that the working set implies is left out where it agrees.
 */
static integer bring(solver *s, integer i, integer is_equality) {
    const double *row = ROW(M, i);
    double multiplier = 0.0, sign = dot(row, s->x, 0, s->n) < s->target[i] ? 1.0 : -1.0;
    while (++s->changes <= s->limit) {
        coordinates(s, row, sign);
        double lacks = (dot(row, s->x, 0, s->n) - s->target[i]) * sign, rest = free_part(s), most;
        integer depends = !(rest > 0.0);
        if (depends && fabs(lacks) <= tolerance_of(s, i, s->target[i], length_of(s, s->x))) return DONE;
        copy(s->dual_step, s->d, s->n);
        back_substitute(s, s->dual_step);
        integer at = first_to_leave(s, &most);
        double whole = depends ? INFINITY : larger(-lacks, 0.0) / rest, t = most < whole ? most : whole;
        if (!(t < INFINITY)) return CONFLICT;
        if (!depends) FOR(j, s->size, s->dimension) add(s->x, t * s->d[j], ROW(J, j), 0, s->n);
        FOR(j, 0, s->size) s->u[j] -= t * s->dual_step[j];
        multiplier += t;
        if (whole <= most) {
            enter(s, i, is_equality, sign, multiplier);
            return DONE;
        }
        leave(s, at);
    }
    return LIMIT;
}

/* --- Phase 3: the dual method, class after class ------------------------------------------------------------------ */

/* Starts a working set with the rows that are fixed and equalities of the classes before `below`; they hold at x. */
static void pin(solver *s, integer below) {
    FOR(i, 0, s->n) fill(ROW(J, i), 0.0, s->wide), ROW(J, i)[i] = 1.0;
    empty_working_set(s, s->n);
    FOR(i, 0, s->m) {
        integer equality = s->of_class[i] < below && is_equal(s, i) && !s->fixed[i];
        if (equality) s->target[i] = s->high[i];
        if (equality || s->fixed[i]) enter_if_independent(s, i, 1, 1.0);
    }
}

/* Returns the row of classes up to `last` that is violated most, in the first class that has one, or -1. */
static integer most_violated(solver *s, integer last) {
    double length = length_of(s, s->x), most = 0.0;
    integer worst = -1, first = last;
    times_M(s, s->value, s->x);
    FOR(i, s->n_E, s->m) {
        if (s->of_class[i] > first || s->in_W[i] || s->fixed[i]) continue;
        double beyond = violation(s, i, s->value[i]);
        integer worse = beyond > most * s->norm[i] || s->of_class[i] < first;
        if (worse && beyond > tolerance_of(s, i, s->value[i], length))
            worst = i, most = beyond / larger(s->norm[i], 1e-300), first = s->of_class[i];
    }
    return worst;
}

/* Makes the rows of class c hold, equalities first; of classes that held before, rows that are violated again. */
static integer hold_class(solver *s, integer c, integer with_equalities) {
    integer code = DONE;
    for (integer i = 0; i < s->m && with_equalities && code == DONE; ++i) {
        if (s->of_class[i] != c || !is_equal(s, i) || s->fixed[i]) continue;
        s->target[i] = s->high[i];
        code = bring(s, i, 1);
    }
    for (integer k = 0; k < s->limit && code == DONE; ++k) {
        integer worst = most_violated(s, c);
        if (worst < 0) break;
        s->target[worst] = s->value[worst] > s->high[worst] ? s->high[worst] : s->low[worst];
        code = bring(s, worst, 0);
    }
    return code;
}

/*
 * Makes class after class hold, from `first_class` on; beyond the last class, all inequalities are looked at once more.
 * DONE, LIMIT, or CONFLICT where failed_class cannot hold. x_kept is x after each class that does.
 *
 * A class that could not hold in the last program is taken for one that cannot: who minimises its violations will see.
 */
static integer hold_classes(solver *s, integer first_class) {
    FOR(c, first_class < s->classes ? first_class : s->classes, s->classes + 1) {
        s->failed_class = c;
        integer code = s->hints[c] == LIKELY ? CONFLICT : hold_class(s, c, c >= first_class);
        if (code != DONE) return code;
        if (first_class <= s->classes) copy(s->x_kept, s->x, s->n);
    }
    return DONE;
}

/* Writes F = Z H Z' (upper part) and b = -Z (H x + f) of the last level and the regularisation, for d rows of Z. */
static void cost_along(solver *s, integer d) {
    integer n = s->n, last = s->levels - 1;
    double *own = s->scratch, share = last == s->diagonal ? 1.0 : 0.0, rest = s->strict > 0 ? BELOW : 1.0;
    fill(own, 0.0, s->wide);
    FOR(i, 0, n) {
        s->D[i] = s->weights[i] * share + s->regularisation[i] * rest;
        own[i] = s->pulls[i] * share - s->D[i] * s->x[i];
    }
    FOR(j, 0, d) s->b[j] = dot(ROW(Z, j), own, 0, n), fill(ROW(F, j), 0.0, s->wide);
    FOR(j, 0, d) {
        FOR(i, 0, n) own[i] = s->D[i] * ROW(Z, j)[i];
        FOR(k, 0, j + 1) ROW(F, k)[j] = dot(own, ROW(Z, k), 0, n);
    }
    FOR(k, last > 0 ? s->ends[last - 1] : 0, s->ends[last]) {
        const double *task = s->R + s->order[k] * n;
        fill(own, 0.0, s->wide);
        FOR(j, 0, d) own[j] = dot(ROW(Z, j), task, 0, n);
        add(s->b, s->r[s->order[k]] - dot(s->x, task, 0, n), own, 0, d);
        FOR(j, 0, d) add(ROW(F, j), own[j], own, j, d);
    }
}

/*
 * Moves x to the minimiser of the last level in what the working set leaves free, and makes J a basis of that in the
 * sense of its cost: with Z the free rows of J and Z H Z' = U'U, J <- U^-T Z.
 */
static void reduce_to_last_level(solver *s) {
    integer n = s->n, d = n - s->size;
    FOR(k, 0, d) copy(ROW(Z, k), ROW(J, s->size + k), n);
    cost_along(s, d);
    FOR(k, 0, d) { /* U in place, and U^-T on Z and on the right-hand side in the same pass */
        double *U = ROW(F, k), pivot = U[k], inverse = pivot > 0.0 ? 1.0 / sqrt(pivot) : 0.0;
        scale(U, inverse, k, d), scale(ROW(Z, k), inverse, 0, n), s->b[k] *= inverse;
        FOR(j, k + 1, d) {
            double factor = -U[j];
            add(ROW(F, j), factor, U, j, d);
            add(ROW(Z, j), factor, ROW(Z, k), 0, n);
            s->b[j] += factor * s->b[k];
        }
    }
    FOR(k, 0, d) add(s->x, s->b[k], ROW(Z, k), 0, n), copy(ROW(J, k), ROW(Z, k), n);
    empty_working_set(s, d);
}

/* --- Phase 3: the primal method -----------------------------------------------------------------------------------
 *
 * A level is a class of constraints that cannot hold, whose violations are minimised, or a level of the cost. From a
 * point at which the rows above hold, every step is the shortest that minimises the level in what the working set
 * leaves free, cut where a row would be violated (with the tolerance that lets the steepest row of a corner block
 * [H73]); that row enters. A row whose multiplier has the wrong sign leaves. At the end, rows with multipliers are
 * fixed.
 */

struct level {
    integer k;        /* class, or classes + 1 + level of the cost */
    integer is_class; /* whether it is a class */
    integer of_cost;  /* number of the level of the cost */
    integer blocking; /* how many rows may end a step */
    integer rows;     /* of T */
    double size;      /* of the terms of the gradient */
};

/* Sets on which side row i of the class is violated, if it is; equalities always count. */
static void set_violated_side(solver *s, integer i, double length) {
    double value = s->value[i];
    integer is_violated = violation(s, i, value) > tolerance_of(s, i, value, length);
    s->violated_side[i] = is_equal(s, i) ? 1.0 : is_violated ? nearer_side(s, i, value) : 0.0;
}

/* Lists the rows that may end a step, and finds those of the class that are violated. */
static struct level begin_level(solver *s, integer k) {
    struct level level = {k, k <= s->classes, k - s->classes - 1, 0, 0, 0.0};
    double length = length_of(s, s->x);
    times_M(s, s->value, s->x);
    FOR(i, 0, s->m) {
        if (s->of_class[i] > k || s->fixed[i]) continue;
        if (s->of_class[i] == k) set_violated_side(s, i, length);
        if (!is_equal(s, i)) s->blocking[level.blocking++] = i;
    }
    return level;
}

/* Appends a row to T, over the coordinates that the working set leaves free, and what it lacks at x. */
static void append(solver *s, struct level *level, const double *row, double aim, integer origin, double norm) {
    double *to = ROW(T, level->rows);
    fill(to, 0.0, s->wide);
    FOR(k, s->size, s->n) to[k] = dot(ROW(J, k), row, 0, s->n);
    describe_row(s, level->rows++, origin, aim - dot(s->x, row, 0, s->n), norm * norm);
}

/* Writes the rows of T: those of the level. */
static void gather_level(solver *s, struct level *level) {
    level->rows = 0;
    for (integer i = 0; i < s->m && level->is_class; ++i) {
        double side = s->violated_side[i];
        if (s->of_class[i] == level->k && !s->fixed[i] && side != 0.0)
            append(s, level, ROW(M, i), bound_at(s, i, side), i, s->norm[i]);
    }
    if (level->is_class) return;
    FOR(j, level->of_cost > 0 ? s->ends[level->of_cost - 1] : 0, s->ends[level->of_cost]) {
        integer at = s->order[j];
        append(s, level, s->R + at * s->n, s->r[at], -1 - at, s->norm_R[at]);
    }
    for (integer i = 0; i < s->n && level->of_cost == s->diagonal; ++i) { /* sqrt(weight) x = pull / sqrt(weight) */
        double *to = ROW(T, level->rows), root = sqrt(s->weights[i]);
        if (!(s->weights[i] > 0.0)) continue;
        fill(to, 0.0, s->wide);
        FOR(k, s->size, s->n) to[k] = ROW(J, k)[i] * root;
        describe_row(s, level->rows++, -1 - s->n_R - i, s->pulls[i] / root - root * s->x[i], s->weights[i]);
    }
}

/* Computes the shortest step to the minimum of the level. */
static void minimise_level(solver *s, const struct level *level) {
    fill(s->y, 0.0, s->wide);
    integer c = factor_level(s, 0, level->rows, level->rows, s->size, RANK_OF_LEVEL);
    fit_level(s, 0, level->rows, s->size, c);
    copy(s->scratch, s->y, s->n);
    reflect_back(s, s->scratch, s->size, c);
    fill(s->step, 0.0, s->wide);
    FOR(k, s->size, s->n) add(s->step, s->scratch[k], ROW(J, k), 0, s->n);
}

/* Returns whether row i must not become violated; in the level's own class it then counts from its bound on. */
static integer must_hold(const solver *s, const struct level *level, integer i) {
    return !s->in_W[i] && (s->of_class[i] < level->k || s->violated_side[i] == 0.0);
}

/* Returns the row that ends the step, or -1. `share` is how much of the step can be gone. */
static integer end_of_step(solver *s, const struct level *level, double *share) {
    double flat = length_of(s, s->step) * FLAT, length = length_of(s, s->x), least = 1.0, steepest = 0.0;
    integer end = -1;
    *share = 1.0;
    times_M(s, s->slope, s->step);
    FOR(pass, 0, 2) FOR(j, 0, level->blocking) {
        integer i = s->blocking[j];
        double slope = fabs(s->slope[i]), value = s->value[i];
        double room = s->slope[i] > 0.0 ? s->high[i] - value : value - s->low[i];
        if (!(slope > s->norm[i] * flat) || !must_hold(s, level, i)) continue;
        double relaxed = room + tolerance_of(s, i, value, length) * SLACK;
        if (pass == 0 && relaxed < least * slope) least = relaxed / slope;
        if (pass == 1 && least < 1.0 && room <= least * slope && slope > steepest * s->norm[i])
            end = i, steepest = slope / s->norm[i], *share = larger(room / slope, 0.0);
    }
    return end;
}

/* Row i ends a step: it enters or, in the level's own class, counts from now on. */
static void block_step(solver *s, const struct level *level, integer i) {
    double side = s->slope[i] > 0.0 ? 1.0 : -1.0;
    if (s->of_class[i] == level->k) s->violated_side[i] = side;
    else coordinates(s, ROW(M, i), -side), enter(s, i, 0, -side, 0.0);
}

/* Rows of the class that are more than met do not count any longer, unless beyond the other bound. Returns how many. */
static integer release_met_rows(solver *s, const struct level *level) {
    double length = length_of(s, s->x);
    integer count = 0;
    for (integer t = 0; t < level->rows && level->is_class; ++t) {
        integer i = s->origin[t];
        double tolerance = tolerance_of(s, i, s->aim[t], length);
        if (is_equal(s, i) || !(s->deviation[t] * s->violated_side[i] < -tolerance)) continue;
        set_violated_side(s, i, length);
        ++count;
    }
    return count;
}

/* Computes the multipliers of the working set into dual_step. Returns the member that is most wrong, or -1. */
static integer most_wrong(solver *s, struct level *level, double *residual) {
    double length = length_of(s, s->x), size = 0.0, most = 0.0;
    integer at = -1;
    fill(s->gradient, 0.0, s->wide);
    FOR(t, 0, level->rows) {
        double norm = sqrt(s->squared[t]);
        add_original_row(s, s->gradient, s->deviation[t], t);
        size = larger(size, (fabs(s->deviation[t]) + norm * length * 1e-3) * norm);
    }
    clear_behind(s, s->gradient);
    coordinates(s, s->gradient, 1.0);
    *residual = 0.0;
    FOR(k, s->size, s->n) *residual = larger(*residual, fabs(s->d[k]) / larger(size, 1.0));
    copy(s->dual_step, s->d, s->n);
    back_substitute(s, s->dual_step);
    level->size = size;
    FOR(k, 0, s->size) {
        if (s->is_equality[k]) continue;
        double wrong = -(s->dual_step[k] * s->norm[s->W[k]]);
        if (wrong > size * WRONG && wrong > most) at = k, most = wrong;
    }
    return at;
}

/* Returns whether the level is not met: else nothing limits it, and its multipliers are rounding. */
static integer level_is_missed(const solver *s, const struct level *level, double length) {
    FOR(t, 0, level->rows) {
        integer i = s->origin[t];
        double nothing = level->is_class ? tolerance_of(s, i, s->value[i], length)
                                         : (fabs(s->aim[t]) + sqrt(s->squared[t]) * length) * TOLERANCE;
        if (!(fabs(s->deviation[t]) <= nothing)) return 1;
    }
    return 0;
}

/* Row t of the cost keeps its value from now on: it enters the working set if that leaves something of it. */
static void keep_cost_row(solver *s, integer t) {
    integer unknown = -1 - s->n_R - s->origin[t];
    fill(s->gradient, 0.0, s->wide);
    if (unknown < 0) copy_row(s, s->gradient, s->R + (-1 - s->origin[t]) * s->n);
    else s->gradient[unknown] = 1.0;
    coordinates(s, s->gradient, 1.0);
    double rest = sum_of_squares(s->d, s->size, s->n), whole = sum_of_squares(s->d, 0, s->n);
    if (rest > whole * RANK_OF_COST * RANK_OF_COST) enter(s, -1, 1, 1.0, 0.0);
}

/* Fixes what the level decides: rows with multipliers, its own violations, or the values of its rows. */
static void fix_level(solver *s, const struct level *level) {
    double length = length_of(s, s->x);
    integer missed = level_is_missed(s, level, length);
    for (integer k = 0; k < s->size && missed; ++k) {
        integer i = s->W[k];
        if (s->is_equality[k] || !(fabs(s->dual_step[k]) * s->norm[i] > level->size * NOISE)) continue;
        s->is_equality[k] = s->fixed[i] = 1;
        s->violated_side[i] = -s->sign[k], s->target[i] = bound_at(s, i, -s->sign[k]);
        s->found_multiplier[i] = -(s->dual_step[k] * s->sign[k]);
    }
    for (integer t = 0; t < level->rows && level->is_class; ++t) {
        integer i = s->origin[t], met = fabs(s->deviation[t]) <= tolerance_of(s, i, s->value[i], length);
        if (!met || is_equal(s, i))
            s->fixed[i] = 1, s->target[i] = s->value[i], s->found_multiplier[i] = s->deviation[t];
    }
    for (integer t = 0; t < level->rows && !level->is_class && s->size < s->n; ++t) keep_cost_row(s, t);
}

/* Moves x to the minimum of a level and fixes what that decides. DONE or LIMIT. */
static integer descend(solver *s, integer k) {
    struct level level = begin_level(s, k);
    for (;;) {
        double share, residual;
        gather_level(s, &level);
        s->changes += 1 + level.rows / ROWS_PER_CHANGE;
        if (s->changes > s->limit) return LIMIT;
        minimise_level(s, &level);
        integer end = end_of_step(s, &level, &share);
        add(s->x, share, s->step, 0, s->n);
        add(s->value, share, s->slope, 0, s->m);
        if (end >= 0) block_step(s, &level, end);
        else if (release_met_rows(s, &level) == 0) {
            integer wrong = most_wrong(s, &level, &residual);
            if (wrong < 0) {
                s->searched = larger(s->searched, residual);
                fix_level(s, &level);
                return DONE;
            }
            leave(s, wrong);
        }
    }
}

/* --- Phase 3: the search ------------------------------------------------------------------------------------------
 *
 * Class after class is made to hold by the dual method; the violations of one that cannot are minimised by the primal
 * method, and what that decides is fixed. Then come the levels of the cost but the last, by the primal method; the last
 * one and the regularisation by the dual method, in what is left.
 */

/* Rows of A of the classes before `below` that have a side enter the working set if they are at their bounds. */
static void take_up_sides(solver *s, integer below) {
    double length = length_of(s, s->x);
    times_M(s, s->value, s->x);
    FOR(i, s->n_E, s->m) {
        double gap = fabs(s->value[i] - bound_at(s, i, s->side[i]));
        if (s->fixed[i] || !has_side(s, i) || s->of_class[i] >= below || s->size >= s->n) continue;
        if (gap <= tolerance_of(s, i, s->value[i], length)) enter_if_independent(s, i, 0, -s->side[i]);
    }
}

/* Returns DONE for CONFLICT: all rows held before, and whoever proves the working set will see. */
static inline integer only_rounding(integer code) { return code == CONFLICT ? DONE : code; }

/* Starts at a point at which the classes before failed_class hold, and returns CONFLICT; or DONE where all do. */
static integer begin_search(solver *s, integer warm) {
    if (!warm) {
        fill(s->x, 0.0, s->wide), copy(s->x_kept, s->x, s->n);
        pin(s, 0);
        return hold_classes(s, 0);
    }
    copy(s->x, s->x_inside, s->n), copy(s->x_kept, s->x_inside, s->n);
    s->failed_class = first_violated_class(s);
    if (s->failed_class <= s->classes) return CONFLICT;
    pin(s, s->classes + 1);
    take_up_sides(s, s->classes + 1);
    return DONE;
}

/* Minimises the violations of the class that cannot hold, and makes the classes after it hold. */
static integer relax_class(solver *s, integer warm) {
    integer c = s->failed_class;
    copy(s->x, s->x_kept, s->n);
    pin(s, c);
    if (warm) take_up_sides(s, c);
    integer code = descend(s, c);
    s->hints[c] = MINIMISED;
    if (c == 0 && first_violated_class(s) == 0) return INFEASIBLE;
    if (code != DONE) return code;
    copy(s->x_kept, s->x, s->n);
    pin(s, c + 1);
    code = hold_classes(s, c + 1);
    return c >= s->classes ? only_rounding(code) : code;
}

/* Reads the sides of the optimum from what is fixed and from the working set. */
static void read_sides(solver *s) {
    FOR(i, s->n_E, s->m) if (!is_equal(s, i)) s->side[i] = s->fixed[i] ? s->violated_side[i] : 0.0;
    FOR(k, 0, s->size) {
        integer i = s->W[k];
        if (i >= s->n_E && !s->is_equality[k]) s->side[i] = is_equal(s, i) ? 1.0 : -s->sign[k];
    }
}

/*
 * Finds the sides of the optimum: if `warm`, from x_inside and the sides as they are, else from nothing.
 * DONE, INFEASIBLE, LIMIT, or CONFLICT where rounding does not allow it.
 */
static integer search(solver *s, integer warm) {
    FOR(i, 0, s->m) s->fixed[i] = 0, s->violated_side[i] = s->found_multiplier[i] = 0.0;
    integer code = begin_search(s, warm);
    for (integer k = 0; k <= s->classes && code == CONFLICT; ++k) code = relax_class(s, warm);
    if (code == INFEASIBLE) return code;
    for (integer k = 0; k < s->levels - 1 && code == DONE; ++k) {
        code = descend(s, s->classes + 1 + k);
        copy(s->x_kept, s->x, s->n);
    }
    if (code == DONE) {
        DOWN(k, 0, s->size) if (!s->is_equality[k]) leave(s, k);
        reduce_to_last_level(s);
        code = only_rounding(hold_classes(s, s->classes + 1));
    }
    read_sides(s);
    return code;
}

/* --- Phase 4: results --------------------------------------------------------------------------------------------- */

/* Returns 1 + x'Hx of the tail and the levels. */
static double size_of_cost(const solver *s) {
    double size = 1.0;
    FOR(i, 0, s->n) size += s->D[i] * s->x[i] * s->x[i];
    FOR(k, 0, s->n_R) {
        double value = dot(s->x, s->R + k * s->n, 0, s->n);
        size += value * value;
    }
    return size;
}

/* Returns how far row i is beyond its bounds low and high, or zero, and takes its part of the residuals. */
static double excess(solver *s, integer i, double low, double high, double length, integer *first) {
    double value = s->value[i], over = value - high, under = low - value, beyond = over > under ? over : under;
    if (beyond > unreported(s, i, value, length)) {
        *first = s->of_class[i] < *first ? s->of_class[i] : *first;
        s->hints[s->of_class[i]] = LIKELY;
        return over > under ? over : -under;
    }
    double gap = (s->side[i] > 0.0 ? high - value : value - low) * s->multiplier[i];
    if (!(s->loose[i] > 0.0)) s->primal = larger(s->primal, larger(beyond, 0.0) / larger(fabs(value), 1.0));
    if (s->multiplier[i] != 0.0 && s->decided[i] != BY_CLASS)
        s->complementarity = larger(s->complementarity, fabs(gap) / s->size_of_cost);
    return 0.0;
}

/* Gives up: the last point at which the classes held, without multipliers. */
static void give_up(solver *s) {
    copy(s->x, s->x_kept, s->n);
    FOR(i, 0, s->m) s->multiplier[i] = s->side[i] = 0.0;
    s->stationarity = INFINITY;
}

/* Writes all results; returns the status. */
static int32_t finish(solver *s, integer code) {
    double length = length_of(s, s->x);
    integer first = s->classes + 1; /* class that is violated */
    s->size_of_cost = size_of_cost(s);
    s->primal = s->complementarity = 0.0, s->active = 0;
    FOR(c, 0, s->classes + 1) s->hints[c] = 0;
    times_M(s, s->value, s->x);
    FOR(i, 0, s->n_E) {
        s->multipliers_E[i] = s->multiplier[i], s->values_E[i] = s->value[i];
        s->excess_E[i] = excess(s, i, s->e[i], s->e[i], length, &first);
    }
    FOR(k, 0, s->n_A) {
        integer i = s->n_E + k;
        s->multipliers_A[k] = s->multiplier[i], s->values_A[k] = s->value[i], s->sides[k] = s->side[i];
        s->active += s->multiplier[i] != 0.0;
        s->excess_A[k] = excess(s, i, s->lower[k], s->upper[k], length, &first);
    }
    s->dependent = s->dependent_rows;
    s->relaxed = first <= s->classes;
    s->stationarity = larger(s->stationarity, s->searched);
    if (code == INFEASIBLE) return INFEASIBLE;
    if (!(length < INFINITY)) return NOT_FOUND;
    if (first == 0) return code == DONE ? INFEASIBLE : NOT_FOUND;
    if (code != DONE) return LIMIT;
    if (!(worst_residual(s) <= ACCURATE)) return INACCURATE;
    return s->relaxed ? RELAXED : DONE;
}

/* --- The solver --------------------------------------------------------------------------------------------------- */

/* Returns DONE if a guess has an accurate answer; else why not, with the sides as they were. */
static integer try_guess(solver *s) {
    copy(s->value, s->sides, s->n_A);
    integer code = guess(s);
    if (code == DONE && worst_residual(s) <= ACCURATE) return DONE;
    copy(s->sides, s->value, s->n_A);
    return code == FAR ? FAR : NOT_FOUND;
}

static void set_sizes(solver *s) {
    s->m = s->n_E + s->n_A, s->wide = padded(s->n), s->tall = (s->m + TALL - 1) & -TALL;
}

/* Solves the program; returns its status. */
int32_t active_set_solve(solver *s) {
    integer likely = s->strict <= 0 && !s->relaxed, guessed = NOT_FOUND;
    set_sizes(s);
    s->tries = s->changes = s->dependent = 0;
    if (likely) guessed = try_guess(s);
    if (guessed == DONE) return DONE;
    integer left_out = s->dependent, code = prepare(s);
    if (code != DONE) return (int32_t)code;
    /* The guess left equalities out that depend on each other only in the sense of the cost. */
    if (likely && left_out > 0 && s->dependent_rows == 0 && try_guess(s) == DONE) return DONE;
    s->found = s->careful = s->has_inside = 0, s->searched = 0.0;
    code = guessed == FAR ? NOT_FOUND : settle(s, WARM_TRIES);
    if (code == DONE && first_violated_class(s) == 0) /* only a search proves that class 0 cannot hold */
        code = NOT_FOUND, s->has_inside = 0;
    DOWN(warm, 0, 2) {
        if (code == DONE || s->has_inside < warm) continue;
        s->found = 0;
        code = search(s, warm);
        s->found = 1;
        if (code == INFEASIBLE) return finish(s, INFEASIBLE);
        if (code == DONE) code = settle(s, warm ? WARM_PROOF_TRIES : COLD_PROOF_TRIES);
    }
    if (code != DONE) give_up(s);
    return finish(s, code);
}

/* Copies chosen rows and columns of a matrix with rows of `whole` numbers; null stands for all. */
static void choose(
    double *to, const double *from, integer whole, const integer *rows, integer m, const integer *columns, integer n) {
    FOR(i, 0, m) FOR(j, 0, n) to[i * n + j] = from[(rows ? rows[i] : i) * whole + (columns ? columns[j] : j)];
}

/* Copies the chosen unknowns and rows of a program into a smaller one, whose sizes are set. */
void active_set_select(const solver *all, solver *s, const integer *of_x, const integer *of_E, const integer *of_A) {
    choose(s->weights, all->weights, 0, 0, 1, of_x, s->n);
    choose(s->pulls, all->pulls, 0, 0, 1, of_x, s->n);
    choose(s->regularisation, all->regularisation, 0, 0, 1, of_x, s->n);
    choose(s->R, all->R, all->n, 0, s->n_R, of_x, s->n);
    choose(s->E, all->E, all->n, of_E, s->n_E, of_x, s->n);
    choose(s->A, all->A, all->n, of_A, s->n_A, of_x, s->n);
    choose(s->r, all->r, 1, 0, s->n_R, 0, 1);
    choose(s->e, all->e, 1, of_E, s->n_E, 0, 1);
    choose(s->lower, all->lower, 1, of_A, s->n_A, 0, 1);
    choose(s->upper, all->upper, 1, of_A, s->n_A, 0, 1);
}

#ifndef GAP /* numbers between arrays; sanitizers poison them */
#define GAP 0
#define POISON(address, bytes)
#endif

/* Returns the next `count` numbers of the memory, or null if there is none; arrays start at multiples of LANES. */
static double *take(double *memory, integer *used, integer count) {
    integer start = *used;
    *used = padded(start + count) + GAP;
    if (!memory) return 0;
    POISON(memory + start + count, (*used - start - count) * (integer)sizeof(double));
    return memory + start;
}

/*
 * Places the workspace for programs of these sizes and smaller ones in `memory`, or nothing if that is null.
 * Returns how many bytes it takes.
 */
integer active_set_arrange(solver *s, double *memory) {
    set_sizes(s);
    integer n = s->n, n_R = s->n_R, n_A = s->n_A, m = s->m, wide = s->wide, tall = s->tall, used = 0;
    integer rows = m + n_R + n, steps = s->classes + s->levels + 4, columns = padded(1 + s->n_E + (n_A < n ? n_A : n));
#define PLACE_REAL(name, count) s->name = take(memory, &used, count);
#define PLACE_INTEGER(name, count) s->name = (integer *)(void *)take(memory, &used, count);
    WORKSPACE(PLACE_REAL, PLACE_INTEGER)
    return used * (integer)sizeof(double);
}

/* Returns the bytes of a solver, of which the caller knows the public part. */
integer active_set_bytes(void) { return (integer)sizeof(solver); }
