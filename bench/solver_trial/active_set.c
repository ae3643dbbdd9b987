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
 *   - The caller owns all memory. It fills in the sizes and the addresses of the program and of the results in a
 *     `struct solver`, all of whose other bytes are zero, and lets `active_set_arrange` place the workspace. Nothing is
 *     allocated later, and nothing recurses. Later programs may have fewer unknowns and rows than were arranged.
 *   - Matrices are stored by rows without gaps. LANES readable, finite numbers follow each array of the program (they
 *     are multiplied by zero), and LANES writable ones follow x.
 *   - `sides`, `hints`, `relaxed` and `guess_rank` carry the working set to the next program. Zeros, with guess_rank =
 *     rank_tolerance^2, start cold; any sides are allowed.
 *   - Work is bounded: at most `limit` changes of the working set in a search, 2 searches, and 13 factorisations.
 *   - Numbers never trap. NaN or infinity where none may be is the status NOT_FINITE.
 *   - Statuses: DONE (optimal), RELAXED (optimal, rows of a class above 0 are violated), INACCURATE (a residual exceeds
 *     ACCURATE), INFEASIBLE (class 0 cannot hold), LIMIT (x is the best point so far), NOT_FOUND (no point),
 *     NOT_CONVEX, NOT_FINITE. After the last four but LIMIT, and after INFEASIBLE, the results mean nothing.
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

enum { LANES = 8 };        /* numbers per block; rows of the workspace are padded to whole blocks */
enum { TALL = 4 * LANES }; /* rows that a product with all constraints processes together */

/* Parts of a row's length below which what other rows leave of it counts as zero. */
static const double RANK_OF_LEVEL = 1e-8;     /* rows of a level */
static const double RANK_TO_ENTER = 1e-7;     /* rows that enter a working set one by one */
static const double RANK_OF_COST = 1e-9;      /* rows of a minimised level that are kept at their values */
static const double RANK_OF_EQUALITY = 1e-9;  /* equalities; those of class 1 have rank_tolerance instead */
static const double RANK_OF_GUESS = 1e-11;    /* squared, in the sense of the cost: rows of a guess */

static const double TOLERANCE = 1e-9;         /* violation, by 1 + |value| and by |row| |x|, that counts as zero */
static const double GUESS_TOLERANCE = 1e-8;   /* violation, by 1 + |value|, that counts as zero in a guess */
static const double FEASIBLE = 1e-7;          /* violation, by max(1, |value|), that is not reported */
static const double ACCURATE = 1e-6;          /* largest residual of a solution */
static const double SLACK = 0.25;             /* part of a row's tolerance by which a step may violate it [H73] */
static const double NOISE = 1e-11;            /* multiplier, by the size of its level, that counts as zero */
static const double WRONG = 1e-6;             /* multiplier of the wrong sign, by the same size, that makes a row leave */
static const double NOISE_OF_GUESS = 1e-10;   /* multiplier of a guess, by the largest one, that counts as zero */
static const double NOISE_OF_COST = 1e-11;    /* deviation of a row of the cost, by its terms, that counts as zero */
static const double SMALL_CHANGE = 1e-10;     /* change of a multiplier, by the largest one, that counts as zero */
static const double FLAT = 1e-7;              /* slope of a row along a step, by |row| |step|, that counts as zero */
static const double BELOW = 1e-6;             /* factor of the regularisation where it comes after the last level */
static const double ILL_CONDITIONED = 1e-10;  /* pivot, by its diagonal entry, below which most digits are lost */
static const double ROUNDING = 1e-15;         /* pivot, by its diagonal entry, that counts as zero */

enum { WARM_TRIES = 2 };       /* working sets that `settle` solves from the last one */
enum { COLD_PROOF_TRIES = 6 }; /* the same after a search from nothing */
enum { WARM_PROOF_TRIES = 2 }; /* the same after a search from a point */
enum { MANY_WRONG = 6 };       /* rows on a wrong side at which a guess is given up: the program jumped */
enum { MANY_ENTER = 8 };       /* rows that may enter at once in `settle` */
enum { ROWS_PER_CHANGE = 8 };  /* rows of a level whose factorisation costs as much as a change of the working set */

enum { LIKELY = 1, MINIMISED = 2 }; /* hints: a class violated in the last program; minimised in this one */
enum { BY_COST = 1, BY_CLASS = 2 }; /* which kind of level decided a row */

struct solver {
    /* Sizes and settings, by the caller. */
    int64_t n;             /* unknowns */
    int64_t n_R, n_E, n_A; /* rows of R, E, A */
    int64_t levels;        /* of the cost */
    int64_t diagonal;      /* the level that weights and pulls belong to */
    int64_t classes;       /* the highest relaxation class */
    int64_t strict;        /* nonzero: levels are strict priorities */
    int64_t guesses;       /* active sets tried by `guess` */
    int64_t limit;         /* changes of the working set per search */
    double rank_tolerance; /* part of its length by which an equality of class 1 must differ from the others */

    /* The program, by the caller. */
    double *R, *r;                  /* rows of the levels and their targets: n_R x n, n_R */
    double *weights, *pulls;        /* diagonal part of the cost: n each */
    double *regularisation;         /* positive: n */
    double *E, *e;                  /* equalities: n_E x n, n_E */
    double *A, *lower, *upper;      /* inequalities: n_A x n, n_A, n_A; infinite where there is no bound */
    int64_t *ends;                  /* of each level: where its rows end in `order` */
    int64_t *order;                 /* rows of R, level after level: n_R */
    int64_t *classes_E, *classes_A; /* relaxation class of each row */

    /* The warm start, read and written. */
    double *sides;     /* of rows of A: -1 or 1 in the working set at its lower or upper bound, else 0 */
    int64_t *hints;    /* of each class: LIKELY if it was violated; classes + 1 */
    int64_t relaxed;   /* whether the last program was */
    double guess_rank; /* what counts as zero among the equalities of a guess, squared, in the sense of the cost */

    /* The results, written. */
    double *x;                              /* n */
    double *multipliers_E, *multipliers_A;  /* n_E, n_A */
    double *excess_E, *excess_A;            /* beyond a bound, positive above */
    double *values_E, *values_A;            /* E x, A x */
    double stationarity, primal, complementarity; /* residuals, each by the size of its terms */
    int64_t tries;                          /* working sets that were solved */
    int64_t changes;                        /* of the working set, row by row */
    int64_t active;                         /* inequalities with a multiplier */
    int64_t dependent;                      /* equalities that others repeat */

    /* --- Everything below is private. ----------------------------------------------------------------------------- */

    int64_t m, wide, tall; /* n_E + n_A; n and m padded */

    /* The cost as one sum (`guess`): H = R'R + diag = U'U, f; constraints C in the metric of H: V = U^-T C'. */
    double *H, *f;             /* n x wide, wide */
    double *V, *S;             /* n x (columns of V), square: V'V */
    double *rhs, *squares;     /* multipliers of V's columns; diagonal of S */
    int64_t *guessed;          /* rows of A that are columns of V */

    /* All constraints as one set, E before A: low <= M x <= high. */
    double *M, *M_T;                /* m x wide; n x tall, by columns */
    double *low, *high, *norm;      /* m */
    double *loose;                  /* additional tolerance of rows whose class has dependent equalities, relative */
    double *value;                  /* M x */
    double *side;                   /* as `sides`, 1 for equalities */
    double *multiplier;
    double *target;                 /* value at which a row is kept, where a search decided it */
    double *norm_R;                 /* lengths of rows of R */
    int64_t *of_class;              /* relaxation class */
    int64_t *fixed;                 /* whether a search decided the row */
    int64_t *decided;               /* BY_COST, BY_CLASS, or 0: the first level at which its multiplier is not zero */

    /* Least squares level after level: unknowns x = Q y, Q a product of reflections; rows of T in terms of y. */
    double *T;                      /* rows x wide, row t of level k for first_row[k] <= t < first_row[k + 1] */
    double *aim, *squared, *left;   /* target; squared length, in all and outside the coordinates that are decided */
    double *deviation;              /* aim - value while a level is solved, value - aim afterwards, sign as in `fit` */
    int64_t *origin;                /* i: row i of M; -1 - j: row j of R; -1 - n_R - i: weight of unknown i */
    int64_t *is_pivot, *pivot;      /* whether a row decides a coordinate; the row that decides coordinate c */
    int64_t *spare;                 /* rows of a level that are no pivots */
    int64_t *first_row, *first_coordinate; /* of each level */
    double *reflector, *beta;       /* one reflection per coordinate: 1 - beta v v' */
    double *F, *small, *delta;      /* of spare rows: multiples of pivots, normal equations, solution */
    double *y, *b, *scratch;        /* wide */
    double *Z, *D, *pull;           /* free directions; diagonal and linear part of the cost that is left for them */
    double *gradient, *balance;     /* of a level, over y; and over x with its multipliers */

    /* A working set W that changes row by row [GI83]: J' H J = 1, and W's normals are H J C with C triangular. */
    double *J, *C;                  /* stored by rows: row k is column k in the literature */
    int64_t *W, *is_equality;       /* row of M, or -1 for a row of the cost; whether it may leave */
    double *u, *sign;               /* multipliers of W; 1 if the row pushes upwards */
    int64_t *in_W;                  /* of rows of M */
    double *d, *r_dual;             /* J' row; C^-1 d, the change of the multipliers */
    int64_t size, dimension;        /* rows of W, rows of J */

    /* A search. */
    double *step, *slope;           /* of x, and of M x */
    double *x_kept;                 /* the last point at which all classes hold that can */
    double *x_inside;               /* a point that violates no row outside the working set */
    double *violated_side;          /* of rows of the level that is minimised: the side on which they are violated */
    double *found_multiplier;       /* of rows that a search decided */
    int64_t *blocking;              /* rows that may end a step */
    int64_t failed_class;           /* class that could not hold */
    int64_t has_inside;             /* whether x_inside is one */
    int64_t found;                  /* whether what is solved was found by a search */
    double searched;                /* largest residual of the levels that a search minimised */
    int64_t dependent_rows;         /* equalities that others repeat */
    int64_t careful;                /* whether a cost in one sum is solved by its rows instead */
    int64_t ill_conditioned;        /* whether a Cholesky factor lost most of its digits */
    double size_of_cost;            /* 1 + x'Hx */
};

/* --- Blocks of numbers ---------------------------------------------------------------------------------------------
 *
 * Loops over rows run over whole blocks: from the block that contains `start` to the end of the block before `stop`.
 */

#ifdef __clang__
#define WHOLE_BLOCKS _Pragma("clang loop vectorize_width(8) interleave_count(1)")
#define ANY_ORDER _Pragma("clang fp reassociate(on)")
#else
#define WHOLE_BLOCKS
#define ANY_ORDER
#endif

static inline int64_t block(int64_t i) { return i & -LANES; }

static inline int64_t padded(int64_t n) { return block(n + LANES - 1); }

/* to += factor row */
static inline void add(double *restrict to, double factor, const double *restrict row, int64_t start, int64_t stop)
{
    WHOLE_BLOCKS
    for (int64_t j = block(start); j < padded(stop); ++j)
        to[j] += factor * row[j];
}

/* row *= factor */
static inline void scale(double *row, double factor, int64_t start, int64_t stop)
{
    WHOLE_BLOCKS
    for (int64_t j = block(start); j < padded(stop); ++j)
        row[j] *= factor;
}

static inline void copy(double *restrict to, const double *restrict row, int64_t stop)
{
    WHOLE_BLOCKS
    for (int64_t j = 0; j < padded(stop); ++j)
        to[j] = row[j];
}

static inline void fill(double *row, double value, int64_t stop)
{
    WHOLE_BLOCKS
    for (int64_t j = 0; j < padded(stop); ++j)
        row[j] = value;
}

/* Returns the scalar product. One of the two must be zero in its blocks outside of start ... stop - 1. */
static inline double dot(const double *a, const double *b, int64_t start, int64_t stop)
{
    ANY_ORDER
    double sum = 0.0;
    WHOLE_BLOCKS
    for (int64_t j = block(start); j < padded(stop); ++j)
        sum += a[j] * b[j];
    return sum;
}

/* Returns the larger number; NaN if either is NaN. */
static inline double larger(double a, double b) { return a > b || a != a ? a : b; }

static inline double *row_of(const struct solver *s, double *matrix, int64_t i) { return matrix + i * s->wide; }

static inline double length_of(const struct solver *s, const double *vector)
{
    return sqrt(dot(vector, vector, 0, s->n));
}

/* Copies a row of n numbers, with zeros behind it. */
static void copy_row(const struct solver *s, double *restrict to, const double *restrict row)
{
    copy(to, row, s->n);
    for (int64_t j = s->n; j < s->wide; ++j)
        to[j] = 0.0;
}

/* to = M vector, for all constraints; without sums across lanes. */
static void times_M(const struct solver *s, double *restrict to, const double *restrict vector)
{
    for (int64_t i = 0; i < s->m; i += TALL) {
        double sum[TALL] = {0.0};
        for (int64_t j = 0; j < s->n; ++j) {
            const double *column = s->M_T + j * s->tall + i;
            for (int64_t k = 0; k < TALL; ++k)
                sum[k] += vector[j] * column[k];
        }
        for (int64_t k = 0; k < TALL; ++k)
            to[i + k] = sum[k];
    }
}

/* Turns coordinates y into unknowns x: reflections start ... stop - 1, last first. */
static void reflect_back(const struct solver *s, double *vector, int64_t start, int64_t stop)
{
    for (int64_t k = stop - 1; k >= start; --k) {
        const double *v = row_of(s, s->reflector, k);
        add(vector, -(dot(vector, v, k, s->n) * s->beta[k]), v, k, s->n);
    }
}

/* Turns a gradient over x into one over y: the first `count` reflections. */
static void reflect(const struct solver *s, double *vector, int64_t count)
{
    for (int64_t k = 0; k < count; ++k) {
        const double *v = row_of(s, s->reflector, k);
        add(vector, -(dot(vector, v, k, s->n) * s->beta[k]), v, k, s->n);
    }
}

/* --- Rows of the constraints ------------------------------------------------------------------------------------- */

static inline int64_t is_equal(const struct solver *s, int64_t i) { return s->low[i] == s->high[i]; }

/* Returns by how much row i violates a bound; negative if it does not. */
static inline double violation(const struct solver *s, int64_t i, double value)
{
    return larger(value - s->high[i], s->low[i] - value);
}

/* Returns the side of the bound that is violated more, or nearer. */
static inline double nearer_side(const struct solver *s, int64_t i, double value)
{
    return value - s->high[i] > s->low[i] - value ? 1.0 : -1.0;
}

static inline double bound_at(const struct solver *s, int64_t i, double side)
{
    return side > 0.0 ? s->high[i] : s->low[i];
}

/* Returns the violation of row i that counts as zero, where its value and the length of x are these. */
static inline double tolerance_of(const struct solver *s, int64_t i, double value, double length)
{
    double size = fabs(value) + 1.0;
    return (size + s->norm[i] * length * 0.4) * TOLERANCE + size * s->loose[i];
}

/* Returns the violation of row i that is not reported. */
static inline double unreported(const struct solver *s, int64_t i, double value, double length)
{
    return larger(fabs(value), 1.0) * FEASIBLE + tolerance_of(s, i, value, length);
}

/* Returns the first class of which x violates a row, or classes + 1. NaN violates. */
static int64_t first_violated_class(struct solver *s)
{
    double length = length_of(s, s->x);
    int64_t first = s->classes + 1;
    times_M(s, s->value, s->x);
    for (int64_t i = 0; i < s->m; ++i)
        if (s->of_class[i] < first && !(violation(s, i, s->value[i]) <= unreported(s, i, s->value[i], length)))
            first = s->of_class[i];
    return first;
}

/* --- Phase 1: guess the active set -------------------------------------------------------------------------------
 *
 * With U'U = H and C the rows of E and the active rows of A, with bounds c,
 *
 *     V = U^-T C',   y = U^-T f,   V'V lambda = -(c + V'y),   x = -U^-1 (y + V lambda),
 *
 * and x is the minimiser if no other row is violated and no multiplier has the wrong sign. Else rows of the wrong sign
 * leave and violated rows enter, a few times: a semi-smooth Newton step [HIK02]. The first column of V is y.
 */

/* H = R'R + weights + regularisation (upper part) and f = -R'r - pulls. */
static void sum_cost(struct solver *s)
{
    int64_t n = s->n, wide = s->wide;
    fill(s->f, 0.0, wide);
    for (int64_t i = 0; i < n; ++i) {
        double *row = row_of(s, s->H, i);
        fill(row, 0.0, wide);
        row[i] = s->weights[i] + s->regularisation[i];
        s->f[i] = -s->pulls[i];
    }
    for (int64_t k = 0; k < s->n_R; ++k) {
        const double *row = s->R + k * n;
        add(s->f, -s->r[k], row, 0, n);
        for (int64_t i = 0; i < n; ++i)
            add(row_of(s, s->H, i), row[i], row, i, n);
    }
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = n; j < wide; ++j)
            row_of(s, s->H, i)[j] = 0.0;
    for (int64_t j = n; j < wide; ++j)
        s->f[j] = 0.0;
}

/* Factors H = U'U in place; returns NOT_CONVEX if a pivot is not positive. */
static int64_t factor_cost(struct solver *s)
{
    for (int64_t k = 0; k < s->n; ++k) {
        double *row = row_of(s, s->H, k), pivot = row[k];
        if (!(pivot > 0.0))
            return NOT_CONVEX;
        scale(row, 1.0 / sqrt(pivot), k, s->n);
        for (int64_t i = k + 1; i < s->n; ++i)
            add(row_of(s, s->H, i), -row[i], row, i, s->n);
    }
    return DONE;
}

static void copy_to_column(double *column, const double *row, int64_t n, int64_t stride)
{
    for (int64_t k = 0; k < n; ++k)
        column[k * stride] = row[k];
}

/* Writes the columns of V: f, rows of E, active rows of A. Returns how many there are. */
static int64_t gather_columns(struct solver *s)
{
    int64_t n = s->n, n_E = s->n_E, count = n_E + 1;
    for (int64_t i = 0; i < s->n_A; ++i) {
        int64_t active = (s->sides[i] > 0.5 && s->upper[i] < INFINITY) || (s->sides[i] < -0.5 && s->lower[i] > -INFINITY);
        s->sides[i] = active ? s->sides[i] : 0.0;
        if (active && count < n_E + 1 + n)
            s->guessed[count++ - n_E - 1] = i;
    }
    int64_t columns = padded(count);
    for (int64_t k = 0; k < n; ++k) {
        fill(s->V + k * columns, 0.0, columns);
        s->V[k * columns] = s->f[k];
    }
    for (int64_t c = 0; c < n_E; ++c)
        copy_to_column(s->V + c + 1, s->E + c * n, n, columns);
    for (int64_t c = n_E + 1; c < count; ++c)
        copy_to_column(s->V + c, s->A + s->guessed[c - n_E - 1] * n, n, columns);
    return count;
}

/* V <- U^-T V, all columns together. */
static void forward_substitute(struct solver *s, int64_t columns)
{
    for (int64_t k = 0; k < s->n; ++k) {
        double *row = s->V + k * columns;
        const double *U = row_of(s, s->H, k);
        scale(row, 1.0 / U[k], 0, columns);
        for (int64_t j = k + 1; j < s->n; ++j)
            add(s->V + j * columns, -U[j], row, 0, columns);
    }
}

/* Returns the right-hand side of a column of V: e, or the bound on the active side. */
static double bound_of_column(const struct solver *s, int64_t c)
{
    if (c <= s->n_E)
        return s->e[c - 1];
    int64_t i = s->guessed[c - s->n_E - 1];
    return s->sides[i] > 0.0 ? s->upper[i] : s->lower[i];
}

/* Solves V'V lambda = -(c + V'y) into rhs. Columns that earlier ones repeat get lambda = 0. */
static void guess_multipliers(struct solver *s, int64_t count, int64_t columns)
{
    double *S = s->S, *rhs = s->rhs;
    for (int64_t i = 0; i < count; ++i)
        fill(S + i * columns, 0.0, columns);
    for (int64_t k = 0; k < s->n; ++k) {
        const double *row = s->V + k * columns;
        for (int64_t i = 0; i < count; ++i)
            add(S + i * columns, row[i], row, i, columns);
    }
    fill(rhs, 0.0, columns);
    for (int64_t i = 1; i < count; ++i) {
        rhs[i] = -(S[i] + bound_of_column(s, i));
        s->squares[i] = S[i * columns + i];
    }
    s->dependent = 0;
    for (int64_t k = 1; k < count; ++k) { /* Cholesky factor of S without its first row, and forward substitution */
        double *row = S + k * columns;
        int64_t keep = row[k] > s->squares[k] * (k <= s->n_E ? s->guess_rank : RANK_OF_GUESS);
        s->dependent += !keep && k <= s->n_E;
        double inverse = keep ? 1.0 / sqrt(row[k]) : 0.0;
        scale(row, inverse, k, columns);
        rhs[k] *= inverse;
        for (int64_t i = k + 1; i < count; ++i) {
            add(S + i * columns, -row[i], row, i, columns);
            rhs[i] -= row[i] * rhs[k];
        }
    }
    for (int64_t k = count - 1; k >= 1; --k) {
        double total = rhs[k], pivot = S[k * columns + k];
        for (int64_t i = k + 1; i < count; ++i)
            total -= S[k * columns + i] * rhs[i];
        rhs[k] = pivot > 0.0 ? total / pivot : 0.0;
    }
    rhs[0] = 1.0;
}

/* x = -U^-1 (y + V lambda) */
static void guess_unknowns(struct solver *s, int64_t columns)
{
    fill(s->x, 0.0, s->wide);
    for (int64_t k = s->n - 1; k >= 0; --k) {
        const double *U = row_of(s, s->H, k);
        double y = dot(s->V + k * columns, s->rhs, 0, columns);
        s->x[k] = -(y + dot(U, s->x, k, s->n)) / U[k];
    }
}

/* Drops rows of the wrong sign, all of them or only the first. Returns how many. */
static int64_t drop_wrong_signs(struct solver *s, int64_t count, int64_t one_by_one)
{
    double largest = 0.0;
    int64_t dropped = 0;
    for (int64_t c = 1; c < count; ++c)
        largest = larger(largest, fabs(s->rhs[c]));
    for (int64_t c = s->n_E + 1; c < count; ++c) {
        int64_t i = s->guessed[c - s->n_E - 1];
        s->multipliers_A[i] = s->rhs[c];
        if (s->rhs[c] * s->sides[i] < largest * -NOISE_OF_GUESS && (!one_by_one || dropped == 0)) {
            s->sides[i] = 0.0;
            s->multipliers_A[i] = 0.0;
            ++dropped;
        }
    }
    return dropped;
}

/* Lets violated rows enter, all of them or only the worst, and that only if none was dropped. Returns how many are. */
static int64_t enter_violated(struct solver *s, int64_t one_by_one, int64_t dropped)
{
    int64_t wrong = 0, place = -1;
    double worst = 0.0, side_of_worst = 0.0;
    for (int64_t i = 0; i < s->n_A; ++i) {
        double value = s->values_A[i], over = value - s->upper[i], under = s->lower[i] - value;
        double beyond = over > under ? over : under, side = over > under ? 1.0 : -1.0;
        int64_t is_free = s->sides[i] == 0.0 && s->multipliers_A[i] == 0.0;
        if (!is_free || !(beyond > (fabs(value) + 1.0) * GUESS_TOLERANCE))
            continue;
        if (!one_by_one) {
            s->sides[i] = side;
            ++wrong;
        } else if (beyond > worst) {
            worst = beyond, place = i, side_of_worst = side;
        }
    }
    if (place >= 0) {
        if (dropped == 0)
            s->sides[place] = side_of_worst;
        ++wrong;
    }
    return wrong;
}

/* Residuals of the program as it was given: stationarity from R, not from the factor. */
static void certify_guess(struct solver *s, int64_t count)
{
    int64_t n = s->n, n_E = s->n_E;
    double size = 1.0, primal = 0.0, gap = 0.0, worst = 0.0, *g = s->gradient;
    fill(g, 0.0, s->wide);
    for (int64_t i = 0; i < n; ++i) {
        g[i] = (s->weights[i] + s->regularisation[i]) * s->x[i] - s->pulls[i];
        size = larger(size, fabs(s->f[i]));
    }
    for (int64_t k = 0; k < s->n_R; ++k) {
        const double *row = s->R + k * n;
        add(g, dot(row, s->x, 0, n) - s->r[k], row, 0, n);
    }
    for (int64_t c = 0; c < n_E; ++c) {
        const double *row = s->E + c * n;
        s->multipliers_E[c] = s->rhs[c + 1];
        add(g, s->rhs[c + 1], row, 0, n);
        s->values_E[c] = dot(row, s->x, 0, n);
        primal = larger(primal, fabs(s->values_E[c] - s->e[c]) / larger(fabs(s->e[c]), 1.0));
    }
    for (int64_t c = n_E + 1; c < count; ++c) {
        int64_t i = s->guessed[c - n_E - 1];
        add(g, s->rhs[c], s->A + i * n, 0, n);
        double off = fabs(s->values_A[i] - (s->sides[i] > 0.0 ? s->upper[i] : s->lower[i]));
        primal = larger(primal, off / larger(fabs(s->values_A[i]), 1.0));
        gap = larger(gap, fabs(off * s->rhs[c]));
    }
    for (int64_t i = 0; i < n; ++i)
        worst = larger(worst, fabs(g[i]));
    for (int64_t i = 0; i < s->n_A; ++i) {
        double value = s->values_A[i], beyond = larger(value - s->upper[i], s->lower[i] - value);
        primal = larger(primal, beyond / larger(fabs(value), 1.0));
    }
    s->stationarity = worst / size, s->primal = primal, s->complementarity = gap / size;
}

static double worst_residual(const struct solver *s)
{
    return larger(s->stationarity, larger(s->primal, s->complementarity));
}

/* Solves a few active sets, the first from `sides`. DONE with all results, NOT_FOUND, NOT_CONVEX, or FAR. */
static int64_t guess(struct solver *s)
{
    sum_cost(s);
    if (factor_cost(s) != DONE)
        return NOT_CONVEX;
    for (int64_t k = 0; k < s->guesses; ++k) {
        int64_t count = gather_columns(s), columns = padded(count), one_by_one = k >= s->guesses / 2;
        forward_substitute(s, columns);
        guess_multipliers(s, count, columns);
        guess_unknowns(s, columns);
        for (int64_t i = 0; i < s->n_A; ++i) {
            s->values_A[i] = dot(s->A + i * s->n, s->x, 0, s->n);
            s->multipliers_A[i] = 0.0;
        }
        int64_t dropped = drop_wrong_signs(s, count, one_by_one);
        int64_t wrong = dropped + enter_violated(s, one_by_one, dropped);
        if (wrong == 0) {
            certify_guess(s, count);
            s->tries = k + 1;
            s->active = count - s->n_E - 1;
            return DONE;
        }
        if (wrong > MANY_WRONG)
            return FAR;
    }
    return NOT_FOUND;
}

/* --- Least squares, level after level ----------------------------------------------------------------------------
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

/* Returns the row among t0 ... t1 - 1 of which most is left, or -1. */
static int64_t longest_row(const struct solver *s, int64_t t0, int64_t t1)
{
    int64_t best = -1;
    double most = 0.0;
    for (int64_t t = t0; t < t1; ++t)
        if (!s->is_pivot[t] && s->left[t] > most)
            best = t, most = s->left[t];
    return best;
}

/* Makes row t a pivot: a reflection turns what is left of it, with this squared length, into coordinate c. */
static void make_pivot(struct solver *s, int64_t t, int64_t c, double square, int64_t t0, int64_t total)
{
    double *row = row_of(s, s->T, t), *v = row_of(s, s->reflector, c);
    double length = sqrt(square), head = v[c], end = head > 0.0 ? -length : length;
    v[c] = head - end;
    s->beta[c] = 1.0 / (square + fabs(head) * length);
    for (int64_t j = c; j < s->n; ++j)
        row[j] = 0.0;
    row[c] = end;
    s->is_pivot[t] = 1;
    s->pivot[c] = t;
    for (int64_t k = t0; k < total; ++k) {
        if (s->is_pivot[k])
            continue;
        double *other = row_of(s, s->T, k);
        add(other, -(dot(other, v, c, s->n) * s->beta[c]), v, c, s->n);
        s->left[k] -= other[c] * other[c];
    }
}

/*
 * Turns coordinates from c0 on until the rows t0 ... t1 - 1 of T are triangular; returns the next coordinate.
 *
 * All rows up to `total` that are no pivots take part in the reflections. What is left of a row counts if it is longer
 * than `rank` times the row.
 */
static int64_t factor_level(struct solver *s, int64_t t0, int64_t t1, int64_t total, int64_t c0, double rank)
{
    int64_t c = c0;
    for (int64_t t = t0; t < t1; ++t) {
        const double *row = row_of(s, s->T, t);
        s->left[t] = s->squared[t];
        for (int64_t j = 0; j < c0; ++j)
            s->left[t] -= row[j] * row[j];
    }
    for (int64_t k = t0; k < t1; ++k) {
        int64_t best = longest_row(s, t0, t1);
        if (best < 0 || c >= s->n)
            break;
        double *v = row_of(s, s->reflector, c);
        fill(v, 0.0, s->wide);
        for (int64_t j = c; j < s->n; ++j)
            v[j] = row_of(s, s->T, best)[j];
        double square = dot(v, v, c, s->n);
        if (square > s->squared[best] * (rank * rank))
            make_pivot(s, best, c++, square, t0, total);
        else
            s->left[best] = 0.0;
    }
    return c;
}

/* Writes one row of F: row = F L over the coordinates c0 ... c1 - 1 of the level. */
static void multiples_of_pivots(const struct solver *s, double *to, const double *row, int64_t c0, int64_t c1)
{
    fill(to, 0.0, s->wide);
    for (int64_t k = c0; k < c1; ++k)
        to[k] = row[k];
    for (int64_t k = c1 - 1; k >= c0; --k) {
        const double *pivot = row_of(s, s->T, s->pivot[k]);
        double multiple = to[k] / pivot[k];
        add(to, -multiple, pivot, c0, k);
        to[k] = multiple;
    }
    for (int64_t k = block(c0); k < c0; ++k)
        to[k] = 0.0;
}

/* vector <- matrix^-1 vector for rows and columns from `start` on; the upper part of the matrix becomes its factor. */
static void cholesky_solve(
    struct solver *s, double *matrix, double *vector, int64_t start, int64_t stop, int64_t stride)
{
    for (int64_t k = start; k < stop; ++k)
        s->left[k] = matrix[k * stride + k];
    for (int64_t k = start; k < stop; ++k) {
        double *row = matrix + k * stride;
        for (int64_t j = stop; j < stride; ++j)
            row[j] = 0.0;
        double pivot = row[k], whole = s->left[k];
        if (!(pivot > whole * ILL_CONDITIONED))
            s->ill_conditioned = 1;
        double inverse = pivot > whole * ROUNDING ? 1.0 / sqrt(pivot) : 0.0;
        scale(row, inverse, k, stop);
        vector[k] *= inverse;
        for (int64_t i = k + 1; i < stop; ++i) {
            add(matrix + i * stride, -row[i], row, i, stop);
            vector[i] -= row[i] * vector[k];
        }
    }
    for (int64_t k = stop - 1; k >= start; --k) {
        double total = vector[k], pivot = matrix[k * stride + k];
        for (int64_t i = k + 1; i < stop; ++i)
            total -= matrix[k * stride + i] * vector[i];
        vector[k] = pivot > 0.0 ? total / pivot : 0.0;
    }
}

/* Shares what the spare rows say against the pivots among all rows of the level: nu, and its part of b. */
static void share_disagreement(struct solver *s, int64_t count, int64_t c0, int64_t c1)
{
    int64_t stride = padded(count);
    for (int64_t a = 0; a < count; ++a) {
        int64_t t = s->spare[a];
        double *row = row_of(s, s->F, a), *column = s->small + a;
        multiples_of_pivots(s, row, row_of(s, s->T, t), c0, c1);
        s->delta[a] = s->deviation[t] - dot(row, s->b, c0, c1);
        for (int64_t k = 0; k <= a; ++k)
            column[k * stride] = dot(row, row_of(s, s->F, k), c0, c1);
        column[a * stride] += 1.0;
    }
    for (int64_t a = count; a < stride; ++a)
        s->delta[a] = 0.0;
    cholesky_solve(s, s->small, s->delta, 0, count, stride);
    for (int64_t a = 0; a < count; ++a) {
        s->deviation[s->spare[a]] = -s->delta[a];
        for (int64_t k = c0; k < c1; ++k) {
            double share = row_of(s, s->F, a)[k] * s->delta[a];
            s->b[k] += share;
            s->deviation[s->pivot[k]] += share;
        }
    }
}

/* Solves coordinates c0 ... c1 - 1 of y from the rows t0 ... t1 - 1; `deviation` gets value - aim of each row. */
static void fit_level(struct solver *s, int64_t t0, int64_t t1, int64_t c0, int64_t c1)
{
    int64_t count = 0;
    fill(s->b, 0.0, s->wide);
    for (int64_t t = t0; t < t1; ++t) {
        s->deviation[t] = s->aim[t] - dot(row_of(s, s->T, t), s->y, 0, s->n);
        if (!s->is_pivot[t])
            s->spare[count++] = t;
    }
    for (int64_t k = c0; k < c1; ++k) {
        s->b[k] = s->deviation[s->pivot[k]];
        s->deviation[s->pivot[k]] = 0.0;
    }
    if (count > 0)
        share_disagreement(s, count, c0, c1);
    double *own = s->scratch;
    fill(own, 0.0, s->wide);
    for (int64_t k = c0; k < c1; ++k) {
        const double *row = row_of(s, s->T, s->pivot[k]);
        own[k] = (s->b[k] - dot(row, own, c0, s->n)) / row[k];
    }
    for (int64_t k = c0; k < c1; ++k)
        s->y[k] = own[k];
}

/* Describes row t of T: where it comes from, and the square of its length. */
static void describe_row(struct solver *s, int64_t t, int64_t origin, double square)
{
    s->origin[t] = origin;
    s->is_pivot[t] = 0;
    s->squared[t] = square;
}

/* to += factor times row t as it was given. */
static void add_original_row(const struct solver *s, double *to, double factor, int64_t t)
{
    int64_t origin = s->origin[t], unknown = -1 - s->n_R - origin;
    if (origin >= 0)
        add(to, factor, row_of(s, s->M, origin), 0, s->n);
    else if (unknown < 0)
        add(to, factor, s->R + (-1 - origin) * s->n, 0, s->n);
    else
        to[unknown] += factor * sqrt(s->squared[t]);
}

/* --- Phase 2: all constraints as one set, and equalities that depend on each other ------------------------------- */

static void gather_equalities(struct solver *s, double *finite)
{
    for (int64_t i = 0; i < s->n_E; ++i) {
        copy_row(s, row_of(s, s->M, i), s->E + i * s->n);
        s->low[i] = s->high[i] = s->e[i];
        s->norm[i] = length_of(s, row_of(s, s->M, i));
        s->of_class[i] = s->classes_E[i];
        s->loose[i] = 0.0;
        s->side[i] = 1.0;
        *finite += (s->norm[i] + s->e[i]) * 0.0;
    }
}

/* Rows whose bounds cross aim at the middle between them. NOT_FINITE if a bound is NaN or excludes everything. */
static int64_t gather_inequalities(struct solver *s, double *finite)
{
    for (int64_t k = 0; k < s->n_A; ++k) {
        int64_t i = s->n_E + k;
        double low = s->lower[k], high = s->upper[k], middle = (low + high) * 0.5, side = s->sides[k];
        copy_row(s, row_of(s, s->M, i), s->A + k * s->n);
        if (!(low < INFINITY && high > -INFINITY))
            return NOT_FINITE;
        s->low[i] = low > high ? middle : low;
        s->high[i] = low > high ? middle : high;
        s->norm[i] = length_of(s, row_of(s, s->M, i));
        s->of_class[i] = s->classes_A[k];
        s->loose[i] = 0.0;
        int64_t bounded = (side > 0.0 && high < INFINITY) || (side < 0.0 && low > -INFINITY);
        s->side[i] = is_equal(s, i) ? 1.0 : bounded ? side : 0.0;
        *finite += s->norm[i] * 0.0;
    }
    return DONE;
}

/* Leaves of row t, and of its row of M, what the first `rank` coordinates say. Its class shares what it cannot have. */
static void make_dependent(struct solver *s, int64_t t, int64_t rank, double tolerance)
{
    double *row = row_of(s, s->T, t);
    int64_t i = s->origin[t];
    ++s->dependent_rows;
    for (int64_t j = rank; j < s->n; ++j)
        row[j] = 0.0;
    reflect_back(s, row, 0, rank);
    copy(row_of(s, s->M, i), row, s->n);
    for (int64_t k = 0; k < s->n_E; ++k)
        if (s->of_class[k] == s->of_class[i])
            s->loose[k] = tolerance;
}

/*
 * Truncates equalities that others repeat but for a part of their length: they lose that rest, and repeat the others
 * exactly. The part is rank_tolerance for class 1, such as contacts, and RANK_OF_EQUALITY for all others.
 *
 * What such a row asks for beyond the others could only be had by unknowns that are 1 / rank_tolerance times larger.
 */
static void truncate_equalities(struct solver *s)
{
    int64_t total = 0, rank = 0;
    s->dependent_rows = 0;
    for (int64_t c = 0; c <= s->classes; ++c) {
        s->first_row[c] = total;
        for (int64_t i = 0; i < s->n_E; ++i) {
            if (s->of_class[i] != c)
                continue;
            copy(row_of(s, s->T, total), row_of(s, s->M, i), s->n);
            describe_row(s, total++, i, s->norm[i] * s->norm[i]);
        }
    }
    s->first_row[s->classes + 1] = total;
    for (int64_t c = 0; c <= s->classes; ++c) {
        int64_t t0 = s->first_row[c], t1 = s->first_row[c + 1];
        double tolerance = c == 1 ? s->rank_tolerance : RANK_OF_EQUALITY;
        rank = factor_level(s, t0, t1, s->n_E, rank, tolerance);
        for (int64_t t = t0; t < t1; ++t)
            if (!s->is_pivot[t])
                make_dependent(s, t, rank, tolerance);
    }
}

/* Gathers low <= M x <= high with lengths and classes. DONE, NOT_FINITE or NOT_CONVEX. */
static int64_t prepare(struct solver *s)
{
    double finite = 0.0; /* NaN as soon as a number is not finite */
    gather_equalities(s, &finite);
    if (gather_inequalities(s, &finite) != DONE)
        return NOT_FINITE;
    for (int64_t k = 0; k < s->n_R; ++k) {
        copy_row(s, s->scratch, s->R + k * s->n);
        s->norm_R[k] = length_of(s, s->scratch);
        finite += (s->norm_R[k] + s->r[k]) * 0.0;
    }
    for (int64_t i = 0; i < s->n; ++i) {
        finite += (s->weights[i] + s->regularisation[i] + s->pulls[i]) * 0.0;
        if (s->regularisation[i] <= 0.0 || s->weights[i] < 0.0)
            return NOT_CONVEX;
    }
    if (finite != 0.0)
        return NOT_FINITE;
    truncate_equalities(s);
    for (int64_t j = 0; j < s->n; ++j) {
        fill(s->M_T + j * s->tall, 0.0, s->tall);
        for (int64_t i = 0; i < s->m; ++i)
            s->M_T[j * s->tall + i] = row_of(s, s->M, i)[j];
    }
    s->guess_rank = s->dependent_rows > 0 ? s->rank_tolerance * s->rank_tolerance : RANK_OF_GUESS;
    return DONE;
}

/* --- Phase 2: the lexicographic optimum for a given working set --------------------------------------------------
 *
 * Rows of E and the rows of A with a side, whose bound on that side is the aim, are least squares in the order of their
 * classes. The levels of the cost follow. After a search, what it found of violations and of levels but the last is the
 * aim instead. What no level decides minimises the tail: with strict priorities the regularisation alone, else the only
 * level and the regularisation in one sum, which is positive definite.
 */

/* Returns whether the levels of the cost are rows: if strict, and where their sum is too badly conditioned. */
static inline int64_t cost_by_rows(const struct solver *s) { return s->strict > 0 || s->careful; }

/* Returns how many levels are rows: classes of constraints, and the levels of the cost if so. */
static inline int64_t levels_by_rows(const struct solver *s)
{
    return s->classes + 1 + (cost_by_rows(s) ? s->levels : 0);
}

/* Returns the weight of the square of an unknown, with the regularisation if all levels are one sum. */
static inline double weight_of(const struct solver *s, int64_t i)
{
    return s->weights[i] + (s->strict > 0 ? 0.0 : s->regularisation[i]);
}

/* Returns whether a search found what a level of the cost can reach: its values at x_kept. */
static inline int64_t is_found(const struct solver *s, int64_t level) { return s->found && level < s->levels - 1; }

/* Appends the working set's rows to T, class after class. Returns how many rows T has. */
static int64_t gather_working_set(struct solver *s)
{
    int64_t total = 0;
    for (int64_t c = 0; c <= s->classes; ++c) {
        s->first_row[c] = total;
        for (int64_t i = 0; i < s->m; ++i) {
            if (s->of_class[i] != c || s->side[i] == 0.0)
                continue;
            copy(row_of(s, s->T, total), row_of(s, s->M, i), s->n);
            s->aim[total] = s->found && s->fixed[i] ? s->target[i] : bound_at(s, i, s->side[i]);
            describe_row(s, total++, i, s->norm[i] * s->norm[i]);
        }
    }
    return total;
}

/* Appends the weights of single unknowns as rows of their level. Returns how many rows T has. */
static int64_t gather_weights(struct solver *s, int64_t total)
{
    for (int64_t i = 0; i < s->n; ++i) {
        double weight = weight_of(s, i), root = sqrt(weight);
        if (!(weight > 0.0))
            continue;
        fill(row_of(s, s->T, total), 0.0, s->wide);
        row_of(s, s->T, total)[i] = root;
        s->aim[total] = is_found(s, s->diagonal) ? s->x_kept[i] * root : s->pulls[i] / root;
        describe_row(s, total++, -1 - s->n_R - i, weight);
    }
    return total;
}

/* Appends the levels of the cost to T. Returns how many rows T has. */
static int64_t gather_cost(struct solver *s, int64_t total)
{
    int64_t k = 0;
    for (int64_t level = 0; level < s->levels; ++level) {
        s->first_row[s->classes + 1 + level] = total;
        for (; k < s->ends[level]; ++k) {
            int64_t at = s->order[k];
            copy_row(s, row_of(s, s->T, total), s->R + at * s->n);
            double reached = dot(s->x_kept, s->R + at * s->n, 0, s->n);
            s->aim[total] = is_found(s, level) ? reached : s->r[at];
            describe_row(s, total++, -1 - at, s->norm_R[at] * s->norm_R[at]);
        }
        if (cost_by_rows(s) && level == s->diagonal)
            total = gather_weights(s, total);
    }
    s->first_row[s->classes + 1 + s->levels] = total;
    return total;
}

/* Writes Z, the coordinates from c on as directions of x, and adds the diagonal cost along them to F and b. */
static void gather_free_directions(struct solver *s, int64_t c)
{
    int64_t n = s->n;
    for (int64_t i = 0; i < n; ++i)
        s->scratch[i] = s->pull[i] - s->D[i] * s->x[i];
    for (int64_t i = n; i < s->wide; ++i)
        s->scratch[i] = 0.0;
    for (int64_t j = c; j < n; ++j) {
        double *direction = row_of(s, s->Z, j);
        fill(direction, 0.0, s->wide);
        direction[j] = 1.0;
        reflect_back(s, direction, 0, c);
        s->b[j] += dot(direction, s->scratch, 0, n);
    }
    for (int64_t j = c; j < n; ++j) {
        const double *direction = row_of(s, s->Z, j);
        for (int64_t i = 0; i < s->wide; ++i)
            s->gradient[i] = s->D[i] * direction[i];
        for (int64_t k = c; k <= j; ++k)
            row_of(s, s->F, k)[j] += dot(s->gradient, row_of(s, s->Z, k), 0, n);
    }
}

/* Coordinates from c on: minimise 1/2 sum D x^2 - pull'x + 1/2 |rows t0 ... t1 - 1 minus their aims|^2. */
static void minimise_tail(struct solver *s, int64_t t0, int64_t t1, int64_t c)
{
    int64_t n = s->n;
    for (int64_t i = 0; i < n; ++i) {
        s->D[i] = !cost_by_rows(s) ? weight_of(s, i) : s->strict > 0 ? s->regularisation[i] : 0.0;
        s->pull[i] = cost_by_rows(s) ? 0.0 : s->pulls[i];
    }
    fill(s->b, 0.0, s->wide);
    for (int64_t j = c; j < n; ++j)
        fill(row_of(s, s->F, j), 0.0, s->wide);
    for (int64_t t = t0; t < t1; ++t) {
        const double *row = row_of(s, s->T, t);
        s->deviation[t] = s->aim[t] - dot(row, s->y, 0, n);
        add(s->b, s->deviation[t], row, 0, n);
        for (int64_t j = c; j < n; ++j)
            add(row_of(s, s->F, j), row[j], row, j, n);
    }
    gather_free_directions(s, c);
    cholesky_solve(s, s->F, s->b, c, n, s->wide);
    for (int64_t j = c; j < n; ++j) {
        s->y[j] = s->b[j];
        add(s->x, s->b[j], row_of(s, s->Z, j), 0, n);
    }
    for (int64_t t = t0; t < t1; ++t)
        s->deviation[t] = dot(row_of(s, s->T, t), s->y, 0, n) - s->aim[t];
}

/* x for the sides as they are, deviations of all rows of T, values of all constraints. */
static void solve_working_set(struct solver *s)
{
    int64_t total = gather_cost(s, gather_working_set(s)), levels = levels_by_rows(s), c = 0;
    fill(s->y, 0.0, s->wide);
    for (int64_t k = 0; k < levels; ++k) {
        int64_t t0 = s->first_row[k], t1 = s->first_row[k + 1], c0 = c;
        s->first_coordinate[k] = c0;
        if (t1 > t0) {
            c = factor_level(s, t0, t1, total, c0, RANK_OF_LEVEL);
            fit_level(s, t0, t1, c0, c);
        }
    }
    s->first_coordinate[levels] = c;
    copy(s->x, s->y, s->n);
    reflect_back(s, s->x, 0, c);
    minimise_tail(s, s->first_row[levels], total, c);
    times_M(s, s->value, s->x);
}

/* --- Phase 2: the signs of the multipliers -----------------------------------------------------------------------
 *
 * At level k the deviations of its rows are balanced by the levels above: sum deviation_t row_t + sum lambda_p row_p =
 * 0, one lambda for each pivot. A row of A holds rightly if the first of its numbers that is not zero (its own
 * deviation, then its lambda of each level below) has the sign of its side: then it must hold, whatever the levels
 * below say. With the other sign its level would be better off without it. The residual of every level's balance, over
 * x and from the rows as they were given, is the certificate.
 */

/* The row that is most wrong so far. */
struct worst {
    int64_t row; /* -1: none */
    double size;
};

/* Drops rows of A that others repeat and that agree with them: they need not be in the working set. */
static void drop_repeated(struct solver *s, double length)
{
    for (int64_t t = 0; t < s->first_row[s->classes + 1]; ++t) {
        int64_t i = s->origin[t];
        int64_t agrees = fabs(s->deviation[t]) <= tolerance_of(s, i, s->aim[t], length);
        if (!s->is_pivot[t] && agrees && !is_equal(s, i) && !s->decided[i])
            s->side[i] = 0.0;
    }
}

/* Returns whether level k is not met; the tail never is. */
static int64_t is_missed(const struct solver *s, int64_t k, int64_t tail, double length)
{
    if (k == tail)
        return 1;
    for (int64_t t = s->first_row[k]; t < s->first_row[k + 1]; ++t) {
        double reach = fabs(s->aim[t]) + sqrt(s->squared[t]) * length;
        double nothing = k <= s->classes ? tolerance_of(s, s->origin[t], s->aim[t], length) : reach * NOISE_OF_COST;
        if (!(fabs(s->deviation[t]) <= nothing))
            return 1;
    }
    return 0;
}

/* Writes sum deviation_t row_t of level k over y (`gradient`) and over x (`balance`). Returns the size of its terms. */
static double gradient_of_level(struct solver *s, int64_t k, int64_t tail, double length)
{
    int64_t last = k == tail ? s->first_row[s->classes + 1 + s->levels] : s->first_row[k + 1];
    double size = 0.0;
    fill(s->gradient, 0.0, s->wide);
    fill(s->balance, 0.0, s->wide);
    if (k == tail) {
        for (int64_t i = 0; i < s->n; ++i) {
            s->balance[i] = s->D[i] * s->x[i] - s->pull[i];
            size = larger(larger(size, fabs(s->D[i] * s->x[i])), fabs(s->pull[i]));
        }
        copy(s->gradient, s->balance, s->n);
        reflect(s, s->gradient, s->first_coordinate[k]);
    }
    for (int64_t t = s->first_row[k]; t < last; ++t) {
        add(s->gradient, s->deviation[t], row_of(s, s->T, t), 0, s->n);
        add_original_row(s, s->balance, s->deviation[t], t);
        double norm = sqrt(s->squared[t]);
        double reach = (fabs(s->aim[t]) + norm * length) * 1e-3; /* of which rounding is a part */
        size = larger(size, (fabs(s->deviation[t]) + reach) * norm);
    }
    return size;
}

/*
 * Judges row i, which nobody above decided, by its number at this level. It is wrong if the number has the wrong sign
 * by more than `most`; else it is decided if there is more than `none` of it. A row whose influence is all but nothing
 * is better kept: without it, its level would go very far for that nothing.
 */
static void judge(struct solver *s, int64_t i, double number, double none, double most, int64_t by, struct worst *worst)
{
    double outward = number * s->side[i], size = -(outward * s->norm[i]);
    if (s->decided[i])
        return;
    if (outward < -most && size > worst->size)
        worst->row = i, worst->size = size;
    if (outward >= -most && fabs(outward) > none) {
        s->decided[i] = by;
        s->multiplier[i] = number;
    }
}

static inline int64_t is_active_inequality(const struct solver *s, int64_t i)
{
    return !is_equal(s, i) && s->side[i] != 0.0;
}

/* Judges the rows of class k by their own deviations. */
static void judge_deviations(struct solver *s, int64_t k, double length, struct worst *worst)
{
    for (int64_t t = s->first_row[k]; t < s->first_row[k + 1]; ++t) {
        int64_t i = s->origin[t];
        if (is_active_inequality(s, i)) {
            double tolerance = tolerance_of(s, i, s->aim[t], length);
            judge(s, i, s->deviation[t], tolerance, tolerance, BY_CLASS, worst);
        }
    }
}

/* Computes lambda of the pivots above level k, judges their rows, and takes what is left of the gradient as residual. */
static void balance_level(struct solver *s, int64_t k, int64_t tail, double size, struct worst *worst)
{
    int64_t is_class = k <= s->classes, in_one_sum = !is_class && s->strict <= 0;
    double coarse = k == tail || in_one_sum ? TOLERANCE : WRONG, largest = 0.0;
    for (int64_t c = s->first_coordinate[k] - 1; c >= 0; --c) {
        int64_t t = s->pivot[c], i = s->origin[t];
        const double *row = row_of(s, s->T, t);
        double lambda = -s->gradient[c] / row[c];
        add(s->gradient, lambda, row, 0, c);
        add_original_row(s, s->balance, lambda, t);
        if (i < 0)
            continue;
        if (is_active_inequality(s, i)) {
            double unit = size / s->norm[i];
            judge(s, i, lambda, unit * NOISE, unit * coarse, is_class ? BY_CLASS : BY_COST, worst);
        }
        if (in_one_sum && size > 0.0)
            s->multiplier[i] = lambda;
    }
    for (int64_t j = 0; j < s->n; ++j)
        largest = larger(largest, fabs(s->balance[j]));
    s->stationarity = larger(s->stationarity, largest / larger(size, 1.0));
}

/*
 * Returns the row of M that is most wrong at the first level that has one, or -1 if all signs are right.
 *
 * `stationarity` becomes the largest residual of the levels. Rows that others repeat lose their sides.
 */
static int64_t check_signs(struct solver *s)
{
    double length = length_of(s, s->x);
    struct worst worst = {-1, 0.0};
    int64_t tail = levels_by_rows(s);
    for (int64_t i = 0; i < s->m; ++i) {
        int64_t searched = s->found && s->fixed[i];
        s->decided[i] = searched ? BY_CLASS : 0;
        s->multiplier[i] = searched && s->strict > 0 ? s->found_multiplier[i] : 0.0;
    }
    drop_repeated(s, length);
    s->stationarity = 0.0;
    for (int64_t k = 0; k <= tail && worst.row < 0; ++k) {
        if (!is_missed(s, k, tail, length))
            continue;
        double size = gradient_of_level(s, k, tail, length);
        if (k <= s->classes)
            judge_deviations(s, k, length, &worst);
        balance_level(s, k, tail, size, &worst);
    }
    return worst.row;
}

/* --- Phase 2: from a working set that is nearly right ------------------------------------------------------------
 *
 * Rows that the optimum of the working set violates enter, until there is a point that violates none. From there on it
 * is the primal method: the row that is most wrong leaves, and the way to the new optimum ends where it would violate a
 * row, which enters. Every step is exact, and costs a whole factorisation.
 */

/* Lets rows enter that x violates. Returns how many. */
static int64_t enter_all_violated(struct solver *s)
{
    double length = length_of(s, s->x);
    int64_t count = 0;
    for (int64_t i = s->n_E; i < s->m; ++i) {
        double value = s->value[i];
        if (s->side[i] == 0.0 && violation(s, i, value) > tolerance_of(s, i, value, length)) {
            s->side[i] = nearer_side(s, i, value);
            ++count;
        }
    }
    return count;
}

/* Of row i, which x violates: the part of the way from x_inside to x at which it meets its bound; else 2. */
static double part_of_way(const struct solver *s, int64_t i, double tolerance, double *way)
{
    double beyond = violation(s, i, s->value[i]);
    if (s->side[i] != 0.0 || !(beyond > tolerance))
        return 2.0;
    *way = fabs(s->value[i] - dot(row_of(s, s->M, i), s->x_inside, 0, s->n));
    return (*way - beyond) / *way;
}

/* Returns the row that ends the way from x_inside to x, of a corner the steepest, or -1. `share` is the part gone. */
static int64_t first_met(const struct solver *s, double *share)
{
    double length = length_of(s, s->x), least = 1.0, steepest = 0.0, way = 0.0;
    int64_t row = -1;
    *share = 1.0;
    for (int64_t i = s->n_E; i < s->m; ++i) {
        double tolerance = tolerance_of(s, i, s->value[i], length), part = part_of_way(s, i, tolerance, &way);
        if (part == 2.0)
            continue;
        double relaxed = part + tolerance * SLACK / way;
        least = relaxed < least ? relaxed : least;
    }
    for (int64_t i = s->n_E; i < s->m; ++i) {
        double tolerance = tolerance_of(s, i, s->value[i], length), part = part_of_way(s, i, tolerance, &way);
        if (part <= least && way / s->norm[i] > steepest)
            row = i, steepest = way / s->norm[i], *share = larger(part, 0.0);
    }
    return row;
}

/* Solves the working set; once more by the rows of its cost where their sum has lost its digits. */
static void solve_carefully(struct solver *s)
{
    ++s->tries;
    s->ill_conditioned = 0;
    solve_working_set(s);
    if (s->ill_conditioned && s->strict <= 0 && !s->careful) {
        s->careful = 1;
        solve_working_set(s);
    }
}

/* DONE where a working set has the right signs, NOT_FOUND after `tries`. */
static int64_t settle(struct solver *s, int64_t tries)
{
    int64_t inside = 0;
    s->has_inside = 0;
    for (int64_t k = 0; k < tries; ++k) {
        solve_carefully(s);
        if (!inside) {
            int64_t entered = enter_all_violated(s);
            if (entered > MANY_ENTER && !s->found)
                return NOT_FOUND;
            if (entered > 0)
                continue;
            inside = s->has_inside = 1;
            copy(s->x_inside, s->x, s->n);
        }
        double share;
        int64_t row = first_met(s, &share);
        for (int64_t i = 0; i < s->n; ++i)
            s->x_inside[i] += (s->x[i] - s->x_inside[i]) * share;
        if (row >= 0) {
            s->side[row] = s->value[row] > s->high[row] ? 1.0 : -1.0;
            continue;
        }
        int64_t wrong = check_signs(s);
        if (wrong < 0)
            return s->stationarity < INFINITY ? DONE : NOT_FOUND;
        s->side[wrong] = 0.0;
    }
    return NOT_FOUND;
}

/* --- Phase 3: a working set that changes row by row [GI83] -------------------------------------------------------
 *
 * The first `size` rows of J belong to the rows of the working set W, with the triangular C; the others span what W
 * leaves free. Entering and leaving cost of the order of n^2 each.
 */

static void empty_working_set(struct solver *s, int64_t dimension)
{
    s->size = 0;
    s->dimension = dimension;
    for (int64_t i = 0; i < s->m; ++i)
        s->in_W[i] = 0;
}

/* d = factor J' row */
static void coordinates(struct solver *s, const double *row, double factor)
{
    for (int64_t k = 0; k < s->dimension; ++k)
        s->d[k] = dot(row_of(s, s->J, k), row, 0, s->n) * factor;
}

/* to <- C^-1 to, for its first `count` entries. */
static void back_substitute(const struct solver *s, double *to, int64_t count)
{
    for (int64_t k = count - 1; k >= 0; --k) {
        const double *column = row_of(s, s->C, k);
        double value = to[k] / column[k];
        add(to, -value, column, 0, k);
        to[k] = value;
    }
}

/* Returns the squared length of the part of d that the first `count` coordinates leave, or 0 if that is rounding. */
static double free_part(const struct solver *s, int64_t count)
{
    double covered = 0.0, rest = 0.0;
    for (int64_t k = 0; k < count; ++k)
        covered += s->d[k] * s->d[k];
    for (int64_t k = count; k < s->dimension; ++k)
        rest += s->d[k] * s->d[k];
    return rest > (covered + rest) * RANK_TO_ENTER * RANK_TO_ENTER ? rest : 0.0;
}

/* Makes the row with coordinates d the last of the working set: a reflection of the free rows of J. */
static void enter(struct solver *s, int64_t row, int64_t is_equality)
{
    int64_t q = s->size;
    double square = 0.0, *column = row_of(s, s->C, q);
    for (int64_t k = q; k < s->dimension; ++k)
        square += s->d[k] * s->d[k];
    double length = sqrt(square), head = s->d[q], end = head > 0.0 ? -length : length;
    double beta = 1.0 / (square + fabs(head) * length);
    s->d[q] = head - end;
    fill(s->step, 0.0, s->wide);
    for (int64_t k = q; k < s->dimension; ++k)
        add(s->step, s->d[k], row_of(s, s->J, k), 0, s->n);
    for (int64_t k = q; k < s->dimension; ++k)
        add(row_of(s, s->J, k), -(beta * s->d[k]), s->step, 0, s->n);
    fill(column, 0.0, s->wide);
    for (int64_t k = 0; k < q; ++k)
        column[k] = s->d[k];
    column[q] = end;
    s->W[q] = row;
    s->is_equality[q] = is_equality;
    if (row >= 0)
        s->in_W[row] = 1;
    s->size = q + 1;
}

/* Rotates rows k and k + 1 of J and of the columns of C, so that C is triangular again in row k + 1. */
static void rotate(struct solver *s, int64_t k, int64_t last)
{
    double *J_k = row_of(s, s->J, k), *J_next = row_of(s, s->J, k + 1);
    double a = row_of(s, s->C, k)[k], b = row_of(s, s->C, k)[k + 1], length = sqrt(a * a + b * b);
    double cosine = a / length, sine = b / length;
    for (int64_t j = k; j < last; ++j) {
        double *column = row_of(s, s->C, j), upper = column[k], lower = column[k + 1];
        column[k] = cosine * upper + sine * lower;
        column[k + 1] = cosine * lower - sine * upper;
    }
    copy(s->step, J_k, s->n);
    scale(J_k, cosine, 0, s->n);
    add(J_k, sine, J_next, 0, s->n);
    scale(J_next, cosine, 0, s->n);
    add(J_next, -sine, s->step, 0, s->n);
}

/* Removes member `at` of the working set. */
static void leave(struct solver *s, int64_t at)
{
    int64_t last = s->size - 1;
    s->in_W[s->W[at]] = 0;
    for (int64_t k = at; k < last; ++k) {
        copy(row_of(s, s->C, k), row_of(s, s->C, k + 1), s->n);
        s->W[k] = s->W[k + 1], s->is_equality[k] = s->is_equality[k + 1];
        s->u[k] = s->u[k + 1], s->sign[k] = s->sign[k + 1];
    }
    for (int64_t k = at; k < last; ++k)
        rotate(s, k, last);
    s->size = last;
}

/* Returns the inequality whose multiplier falls to zero first along r_dual, or -1. `most` is the step at which it does. */
static int64_t first_to_leave(const struct solver *s, double *most)
{
    int64_t at = -1;
    double largest = 0.0;
    *most = INFINITY;
    for (int64_t k = 0; k < s->size; ++k)
        largest = larger(largest, fabs(s->r_dual[k]));
    for (int64_t k = 0; k < s->size; ++k) {
        if (s->is_equality[k] || !(s->r_dual[k] > largest * SMALL_CHANGE))
            continue;
        if (s->u[k] / s->r_dual[k] < *most)
            at = k, *most = s->u[k] / s->r_dual[k];
    }
    return at;
}

/*
 * Brings row i to target[i], upwards or downwards: the step of the dual method. Rows leave whose multipliers would get
 * the wrong sign. DONE, CONFLICT where nothing can bring it there, or LIMIT.
 *
 * A row that the working set implies is left out where it agrees.
 */
static int64_t bring(struct solver *s, int64_t i, int64_t is_equality)
{
    int64_t n = s->n;
    const double *row = row_of(s, s->M, i);
    double multiplier = 0.0, sign = dot(row, s->x, 0, n) < s->target[i] ? 1.0 : -1.0;
    for (int64_t k = 0; k < s->limit; ++k) {
        if (++s->changes > s->limit)
            return LIMIT;
        coordinates(s, row, sign);
        int64_t q = s->size;
        double lacks = (dot(row, s->x, 0, n) - s->target[i]) * sign, rest = free_part(s, q);
        int64_t depends = !(rest > 0.0);
        if (depends && fabs(lacks) <= tolerance_of(s, i, s->target[i], length_of(s, s->x)))
            return DONE;
        copy(s->r_dual, s->d, n);
        back_substitute(s, s->r_dual, q);
        double most, whole;
        int64_t at = first_to_leave(s, &most);
        whole = depends ? INFINITY : larger(-lacks, 0.0) / rest;
        double t = most < whole ? most : whole;
        if (!(t < INFINITY))
            return CONFLICT;
        if (!depends)
            for (int64_t j = q; j < s->dimension; ++j)
                add(s->x, t * s->d[j], row_of(s, s->J, j), 0, n);
        for (int64_t j = 0; j < q; ++j)
            s->u[j] -= t * s->r_dual[j];
        multiplier += t;
        if (whole <= most) {
            s->u[q] = multiplier;
            s->sign[q] = sign;
            enter(s, i, is_equality);
            return DONE;
        }
        leave(s, at);
    }
    return LIMIT;
}

/* --- Phase 3: the dual method, class after class ----------------------------------------------------------------- */

/* Starts a working set with the rows that are fixed and the equalities of the classes before `below`; they hold at x. */
static void pin(struct solver *s, int64_t below)
{
    for (int64_t i = 0; i < s->n; ++i) {
        fill(row_of(s, s->J, i), 0.0, s->wide);
        row_of(s, s->J, i)[i] = 1.0;
    }
    empty_working_set(s, s->n);
    for (int64_t i = 0; i < s->m; ++i) {
        int64_t equality = s->of_class[i] < below && is_equal(s, i) && !s->fixed[i];
        if (equality)
            s->target[i] = s->high[i];
        if (!equality && !s->fixed[i])
            continue;
        coordinates(s, row_of(s, s->M, i), 1.0);
        if (free_part(s, s->size) > 0.0) {
            s->u[s->size] = 0.0;
            s->sign[s->size] = 1.0;
            enter(s, i, 1);
        }
    }
}

/* Returns the row of classes up to `last` that is violated most, in the first class that has one, or -1. */
static int64_t most_violated(struct solver *s, int64_t last)
{
    double length = length_of(s, s->x), most = 0.0;
    int64_t worst = -1, first = last;
    times_M(s, s->value, s->x);
    for (int64_t i = s->n_E; i < s->m; ++i) {
        if (s->of_class[i] > first || s->in_W[i] || s->fixed[i])
            continue;
        double beyond = violation(s, i, s->value[i]);
        int64_t worse = beyond > most * s->norm[i] || s->of_class[i] < first;
        if (worse && beyond > tolerance_of(s, i, s->value[i], length))
            worst = i, most = beyond / larger(s->norm[i], 1e-300), first = s->of_class[i];
    }
    return worst;
}

/*
 * Makes the rows of class after class hold, from `first_class` on; beyond the last class, all inequalities are looked
 * at once more. DONE, LIMIT, or CONFLICT where failed_class cannot hold. x_kept is x after each class that does.
 *
 * A class that could not hold in the last program is taken for one that cannot: who minimises its violations will see.
 */
static int64_t hold_classes(struct solver *s, int64_t first_class)
{
    for (int64_t c = first_class < s->classes ? first_class : s->classes; c <= s->classes; ++c) {
        s->failed_class = c;
        if (s->hints[c] == LIKELY)
            return CONFLICT;
        for (int64_t i = 0; i < s->m && c >= first_class; ++i) {
            if (s->of_class[i] != c || !is_equal(s, i) || s->fixed[i])
                continue;
            s->target[i] = s->high[i];
            int64_t code = bring(s, i, 1);
            if (code != DONE)
                return code;
        }
        for (int64_t k = 0; k < s->limit; ++k) {
            int64_t worst = most_violated(s, c);
            if (worst < 0)
                break;
            s->target[worst] = s->value[worst] > s->high[worst] ? s->high[worst] : s->low[worst];
            int64_t code = bring(s, worst, 0);
            if (code != DONE)
                return code;
        }
        if (first_class <= s->classes)
            copy(s->x_kept, s->x, s->n);
    }
    return DONE;
}

/* Writes F = Z H Z' (upper part) and b = -Z (H x + f) of the last level and the regularisation, for d rows of Z. */
static void cost_along(struct solver *s, int64_t d)
{
    int64_t n = s->n, last = s->levels - 1;
    double *own = s->scratch, share = last == s->diagonal ? 1.0 : 0.0, rest = s->strict > 0 ? BELOW : 1.0;
    fill(own, 0.0, s->wide);
    for (int64_t i = 0; i < n; ++i) {
        s->D[i] = s->weights[i] * share + s->regularisation[i] * rest;
        own[i] = s->pulls[i] * share - s->D[i] * s->x[i];
    }
    for (int64_t j = 0; j < d; ++j) {
        s->b[j] = dot(row_of(s, s->Z, j), own, 0, n);
        fill(row_of(s, s->F, j), 0.0, s->wide);
    }
    for (int64_t j = 0; j < d; ++j) {
        for (int64_t i = 0; i < n; ++i)
            own[i] = s->D[i] * row_of(s, s->Z, j)[i];
        for (int64_t k = 0; k <= j; ++k)
            row_of(s, s->F, k)[j] = dot(own, row_of(s, s->Z, k), 0, n);
    }
    for (int64_t k = last > 0 ? s->ends[last - 1] : 0; k < s->ends[last]; ++k) {
        const double *task = s->R + s->order[k] * n;
        double lacks = s->r[s->order[k]] - dot(s->x, task, 0, n);
        fill(own, 0.0, s->wide);
        for (int64_t j = 0; j < d; ++j)
            own[j] = dot(row_of(s, s->Z, j), task, 0, n);
        add(s->b, lacks, own, 0, d);
        for (int64_t j = 0; j < d; ++j)
            add(row_of(s, s->F, j), own[j], own, j, d);
    }
}

/*
 * Moves x to the minimiser of the last level in what the working set leaves free, and makes J a basis of that in the
 * sense of its cost: with Z the free rows of J and Z H Z' = U'U, J <- U^-T Z.
 */
static void reduce_to_last_level(struct solver *s)
{
    int64_t n = s->n, q = s->size, d = n - q;
    for (int64_t k = 0; k < d; ++k)
        copy(row_of(s, s->Z, k), row_of(s, s->J, q + k), n);
    cost_along(s, d);
    for (int64_t k = 0; k < d; ++k) { /* U in place, and U^-T on Z and on the right-hand side in the same pass */
        double *U = row_of(s, s->F, k), *Z = row_of(s, s->Z, k), pivot = U[k];
        double inverse = pivot > 0.0 ? 1.0 / sqrt(pivot) : 0.0;
        scale(U, inverse, k, d);
        scale(Z, inverse, 0, n);
        s->b[k] *= inverse;
        for (int64_t j = k + 1; j < d; ++j) {
            double factor = -U[j];
            add(row_of(s, s->F, j), factor, U, j, d);
            add(row_of(s, s->Z, j), factor, Z, 0, n);
            s->b[j] += factor * s->b[k];
        }
    }
    for (int64_t k = 0; k < d; ++k) {
        add(s->x, s->b[k], row_of(s, s->Z, k), 0, n);
        copy(row_of(s, s->J, k), row_of(s, s->Z, k), n);
    }
    empty_working_set(s, d);
}

/* --- Phase 3: the primal method ----------------------------------------------------------------------------------
 *
 * A level is a class of constraints that cannot hold, whose violations are minimised, or a level of the cost. From a
 * point at which the rows above hold, every step is the shortest that minimises the level in what the working set
 * leaves free, cut where a row would be violated (with the tolerance that lets the steepest row of a corner block
 * [H73]); that row enters. A row whose multiplier has the wrong sign leaves. At the end, rows with multipliers are
 * fixed.
 */

struct level {
    int64_t k;        /* class, or classes + 1 + level of the cost */
    int64_t is_class;
    int64_t of_cost;  /* number of the level of the cost */
    int64_t blocking; /* how many rows may end a step */
    int64_t rows;     /* of T */
    double size;      /* of the terms of the gradient */
};

/* Sets on which side row i of the class is violated, if it is; equalities always count. */
static void set_violated_side(struct solver *s, int64_t i, double length)
{
    double value = s->value[i];
    int64_t is_violated = violation(s, i, value) > tolerance_of(s, i, value, length);
    s->violated_side[i] = is_equal(s, i) ? 1.0 : is_violated ? nearer_side(s, i, value) : 0.0;
}

/* Lists the rows that may end a step, and finds those of the class that are violated. */
static struct level begin_level(struct solver *s, int64_t k)
{
    struct level level = {k, k <= s->classes, k - s->classes - 1, 0, 0, 0.0};
    double length = length_of(s, s->x);
    times_M(s, s->value, s->x);
    for (int64_t i = 0; i < s->m; ++i) {
        if (s->of_class[i] > k || s->fixed[i])
            continue;
        if (s->of_class[i] == k)
            set_violated_side(s, i, length);
        if (!is_equal(s, i))
            s->blocking[level.blocking++] = i;
    }
    return level;
}

/* Appends a row to T, over the coordinates that the working set leaves free. */
static void append_free_row(struct solver *s, struct level *level, const double *row, double aim, int64_t origin, double norm)
{
    double *to = row_of(s, s->T, level->rows);
    fill(to, 0.0, s->wide);
    for (int64_t k = s->size; k < s->n; ++k)
        to[k] = dot(row_of(s, s->J, k), row, 0, s->n);
    s->aim[level->rows] = aim - dot(s->x, row, 0, s->n);
    describe_row(s, level->rows++, origin, norm * norm);
}

/* Appends sqrt(weight) x_i, whose target is pull / sqrt(weight). */
static void append_free_weight(struct solver *s, struct level *level, int64_t i)
{
    double *to = row_of(s, s->T, level->rows), root = sqrt(s->weights[i]);
    fill(to, 0.0, s->wide);
    for (int64_t k = s->size; k < s->n; ++k)
        to[k] = row_of(s, s->J, k)[i] * root;
    s->aim[level->rows] = s->pulls[i] / root - root * s->x[i];
    describe_row(s, level->rows++, -1 - s->n_R - i, s->weights[i]);
}

/* Writes the rows of T: those of the level, and what they lack at x. */
static void gather_level(struct solver *s, struct level *level)
{
    level->rows = 0;
    if (level->is_class) {
        for (int64_t i = 0; i < s->m; ++i)
            if (s->of_class[i] == level->k && !s->fixed[i] && s->violated_side[i] != 0.0)
                append_free_row(s, level, row_of(s, s->M, i), bound_at(s, i, s->violated_side[i]), i, s->norm[i]);
        return;
    }
    for (int64_t j = level->of_cost > 0 ? s->ends[level->of_cost - 1] : 0; j < s->ends[level->of_cost]; ++j) {
        int64_t at = s->order[j];
        append_free_row(s, level, s->R + at * s->n, s->r[at], -1 - at, s->norm_R[at]);
    }
    if (level->of_cost == s->diagonal)
        for (int64_t i = 0; i < s->n; ++i)
            if (s->weights[i] > 0.0)
                append_free_weight(s, level, i);
}

/* The shortest step to the minimum of the level: `step`. */
static void minimise_level(struct solver *s, const struct level *level)
{
    int64_t q = s->size;
    fill(s->y, 0.0, s->wide);
    int64_t c = factor_level(s, 0, level->rows, level->rows, q, RANK_OF_LEVEL);
    fit_level(s, 0, level->rows, q, c);
    copy(s->scratch, s->y, s->n);
    reflect_back(s, s->scratch, q, c);
    fill(s->step, 0.0, s->wide);
    for (int64_t k = q; k < s->n; ++k)
        add(s->step, s->scratch[k], row_of(s, s->J, k), 0, s->n);
}

/* Returns whether row i must not become violated; in the level's own class it then counts from its bound on. */
static int64_t must_hold(const struct solver *s, const struct level *level, int64_t i)
{
    return !s->in_W[i] && (s->of_class[i] < level->k || s->violated_side[i] == 0.0);
}

/* Returns how steeply row i nears a bound along the step, or 0. `room` is its distance from that bound. */
static double slope_of(const struct solver *s, int64_t i, double step_length, double *room)
{
    double steep = fabs(s->slope[i]);
    *room = s->slope[i] > 0.0 ? s->high[i] - s->value[i] : s->value[i] - s->low[i];
    return steep > s->norm[i] * step_length * FLAT ? steep : 0.0;
}

/* Returns the row that ends the step, or -1. `share` is how much of the step can be gone. */
static int64_t end_of_step(struct solver *s, const struct level *level, double *share)
{
    double step_length = length_of(s, s->step), length = length_of(s, s->x), least = 1.0, steepest = 0.0, room;
    int64_t end = -1;
    *share = 1.0;
    times_M(s, s->slope, s->step);
    for (int64_t j = 0; j < level->blocking; ++j) {
        int64_t i = s->blocking[j];
        double slope = slope_of(s, i, step_length, &room);
        double relaxed = room + tolerance_of(s, i, s->value[i], length) * SLACK;
        if (slope > 0.0 && relaxed < least * slope && must_hold(s, level, i))
            least = relaxed / slope;
    }
    for (int64_t j = 0; j < level->blocking && least < 1.0; ++j) {
        int64_t i = s->blocking[j];
        double slope = slope_of(s, i, step_length, &room);
        if (room <= least * slope && slope > steepest * s->norm[i] && must_hold(s, level, i))
            end = i, steepest = slope / s->norm[i], *share = larger(room / slope, 0.0);
    }
    return end;
}

/* Row i ends a step: it enters or, in the level's own class, counts from now on. */
static void block_step(struct solver *s, const struct level *level, int64_t i)
{
    double side = s->slope[i] > 0.0 ? 1.0 : -1.0;
    if (s->of_class[i] == level->k) {
        s->violated_side[i] = side;
        return;
    }
    coordinates(s, row_of(s, s->M, i), -side);
    s->sign[s->size] = -side;
    enter(s, i, 0);
}

/* Rows of the class that are more than met do not count any longer, unless beyond the other bound. Returns how many. */
static int64_t release_met_rows(struct solver *s, const struct level *level)
{
    double length = length_of(s, s->x);
    int64_t count = 0;
    for (int64_t t = 0; t < level->rows && level->is_class; ++t) {
        int64_t i = s->origin[t];
        double tolerance = tolerance_of(s, i, s->aim[t], length);
        if (!is_equal(s, i) && s->deviation[t] * s->violated_side[i] < -tolerance) {
            set_violated_side(s, i, length);
            ++count;
        }
    }
    return count;
}

/* Computes the multipliers r_dual of the working set. Returns the member that is most wrong, or -1. */
static int64_t most_wrong(struct solver *s, struct level *level, double *residual)
{
    double length = length_of(s, s->x), size = 0.0, most = 0.0;
    int64_t at = -1;
    fill(s->gradient, 0.0, s->wide);
    for (int64_t t = 0; t < level->rows; ++t) {
        add_original_row(s, s->gradient, s->deviation[t], t);
        double norm = sqrt(s->squared[t]);
        size = larger(size, (fabs(s->deviation[t]) + norm * length * 1e-3) * norm);
    }
    for (int64_t j = s->n; j < s->wide; ++j)
        s->gradient[j] = 0.0;
    coordinates(s, s->gradient, 1.0);
    *residual = 0.0;
    for (int64_t k = s->size; k < s->n; ++k)
        *residual = larger(*residual, fabs(s->d[k]) / larger(size, 1.0));
    copy(s->r_dual, s->d, s->n);
    back_substitute(s, s->r_dual, s->size);
    level->size = size;
    for (int64_t k = 0; k < s->size; ++k) {
        if (s->is_equality[k])
            continue;
        double wrong = -(s->r_dual[k] * s->norm[s->W[k]]);
        if (wrong > size * WRONG && wrong > most)
            at = k, most = wrong;
    }
    return at;
}

/* Returns whether the level is not met: else nothing limits it, and its multipliers are rounding. */
static int64_t level_is_missed(const struct solver *s, const struct level *level)
{
    double length = length_of(s, s->x);
    for (int64_t t = 0; t < level->rows; ++t) {
        int64_t i = s->origin[t];
        double nothing = level->is_class ? tolerance_of(s, i, s->value[i], length)
                                         : (fabs(s->aim[t]) + sqrt(s->squared[t]) * length) * TOLERANCE;
        if (!(fabs(s->deviation[t]) <= nothing))
            return 1;
    }
    return 0;
}

/* Row t of the cost keeps its value from now on: it enters the working set if that leaves something of it. */
static void keep_cost_row(struct solver *s, int64_t t)
{
    int64_t origin = s->origin[t], unknown = -1 - s->n_R - origin;
    double *row = s->gradient, rest = 0.0, whole = 0.0;
    fill(row, 0.0, s->wide);
    if (unknown < 0)
        copy_row(s, row, s->R + (-1 - origin) * s->n);
    else
        row[unknown] = 1.0;
    coordinates(s, row, 1.0);
    for (int64_t k = 0; k < s->n; ++k)
        whole += s->d[k] * s->d[k];
    for (int64_t k = s->size; k < s->n; ++k)
        rest += s->d[k] * s->d[k];
    if (rest > whole * RANK_OF_COST * RANK_OF_COST)
        enter(s, -1, 1);
}

/* Fixes what the level decides: rows with multipliers, its own violations, or the values of its rows. */
static void fix_level(struct solver *s, const struct level *level)
{
    double length = length_of(s, s->x);
    int64_t missed = level_is_missed(s, level);
    for (int64_t k = 0; k < s->size && missed; ++k) {
        int64_t i = s->W[k];
        if (s->is_equality[k] || !(fabs(s->r_dual[k]) * s->norm[i] > level->size * NOISE))
            continue;
        s->is_equality[k] = s->fixed[i] = 1;
        s->violated_side[i] = -s->sign[k];
        s->target[i] = bound_at(s, i, -s->sign[k]);
        s->found_multiplier[i] = -(s->r_dual[k] * s->sign[k]);
    }
    for (int64_t t = 0; t < level->rows && level->is_class; ++t) {
        int64_t i = s->origin[t];
        int64_t met = fabs(s->deviation[t]) <= tolerance_of(s, i, s->value[i], length);
        if (met && !is_equal(s, i))
            continue;
        s->fixed[i] = 1;
        s->target[i] = s->value[i];
        s->found_multiplier[i] = s->deviation[t];
    }
    for (int64_t t = 0; t < level->rows && !level->is_class; ++t)
        if (s->size < s->n)
            keep_cost_row(s, t);
}

/* Moves x to the minimum of a level and fixes what that decides. DONE or LIMIT. */
static int64_t descend(struct solver *s, int64_t k)
{
    struct level level = begin_level(s, k);
    for (int64_t step = 0; step < s->limit; ++step) {
        double share, residual;
        gather_level(s, &level);
        s->changes += 1 + level.rows / ROWS_PER_CHANGE;
        if (s->changes > s->limit)
            return LIMIT;
        minimise_level(s, &level);
        int64_t end = end_of_step(s, &level, &share);
        add(s->x, share, s->step, 0, s->n);
        add(s->value, share, s->slope, 0, s->m);
        if (end >= 0) {
            block_step(s, &level, end);
            continue;
        }
        if (release_met_rows(s, &level) > 0)
            continue;
        int64_t wrong = most_wrong(s, &level, &residual);
        if (wrong < 0) {
            s->searched = larger(s->searched, residual);
            fix_level(s, &level);
            return DONE;
        }
        leave(s, wrong);
    }
    return LIMIT;
}

/* --- Phase 3: the search -----------------------------------------------------------------------------------------
 *
 * Class after class is made to hold by the dual method; the violations of one that cannot are minimised by the primal
 * method, and what that decides is fixed. Then come the levels of the cost but the last, by the primal method; the last
 * one and the regularisation by the dual method, in what is left.
 */

/* Rows of A of the classes before `below` that have a side enter the working set if they are at their bounds. */
static void take_up_sides(struct solver *s, int64_t below)
{
    double length = length_of(s, s->x);
    times_M(s, s->value, s->x);
    for (int64_t i = s->n_E; i < s->m; ++i) {
        double gap = s->value[i] - bound_at(s, i, s->side[i]);
        int64_t is_free = !s->fixed[i] && is_active_inequality(s, i) && s->of_class[i] < below;
        if (!is_free || !(fabs(gap) <= tolerance_of(s, i, s->value[i], length)) || s->size >= s->n)
            continue;
        coordinates(s, row_of(s, s->M, i), -s->side[i]);
        if (free_part(s, s->size) > 0.0) {
            s->u[s->size] = 0.0;
            s->sign[s->size] = -s->side[i];
            enter(s, i, 0);
        }
    }
}

/* Returns DONE for CONFLICT: all rows held before, and whoever proves the working set will see. */
static inline int64_t only_rounding(int64_t code) { return code == CONFLICT ? DONE : code; }

/* Starts at a point at which the classes before failed_class hold, and returns CONFLICT; or DONE where all do. */
static int64_t begin_search(struct solver *s, int64_t warm)
{
    int64_t all = s->classes + 1;
    if (!warm) {
        fill(s->x, 0.0, s->wide);
        copy(s->x_kept, s->x, s->n);
        pin(s, 0);
        return hold_classes(s, 0);
    }
    copy(s->x, s->x_inside, s->n);
    copy(s->x_kept, s->x_inside, s->n);
    s->failed_class = first_violated_class(s);
    if (s->failed_class < all)
        return CONFLICT;
    pin(s, all);
    take_up_sides(s, all);
    return DONE;
}

/* Minimises the violations of the class that cannot hold, and makes the classes after it hold. */
static int64_t relax_class(struct solver *s, int64_t warm)
{
    int64_t c = s->failed_class;
    copy(s->x, s->x_kept, s->n);
    pin(s, c);
    if (warm)
        take_up_sides(s, c);
    int64_t code = descend(s, c);
    s->hints[c] = MINIMISED;
    if (c == 0 && first_violated_class(s) == 0)
        return INFEASIBLE;
    if (code != DONE)
        return code;
    copy(s->x_kept, s->x, s->n);
    pin(s, c + 1);
    code = hold_classes(s, c + 1);
    return c >= s->classes ? only_rounding(code) : code;
}

/* Reads the sides of the optimum from what is fixed and from the working set. */
static void read_sides(struct solver *s)
{
    for (int64_t i = s->n_E; i < s->m; ++i)
        if (!is_equal(s, i))
            s->side[i] = s->fixed[i] ? s->violated_side[i] : 0.0;
    for (int64_t k = 0; k < s->size; ++k)
        if (s->W[k] >= s->n_E && !s->is_equality[k])
            s->side[s->W[k]] = is_equal(s, s->W[k]) ? 1.0 : -s->sign[k];
}

/*
 * Finds the sides of the optimum: if `warm`, from x_inside and the sides as they are, else from nothing.
 * DONE, INFEASIBLE, LIMIT, or CONFLICT where rounding does not allow it.
 */
static int64_t search(struct solver *s, int64_t warm)
{
    for (int64_t i = 0; i < s->m; ++i) {
        s->fixed[i] = 0;
        s->violated_side[i] = s->found_multiplier[i] = 0.0;
    }
    int64_t code = begin_search(s, warm);
    for (int64_t k = 0; k <= s->classes && code == CONFLICT; ++k) {
        code = relax_class(s, warm);
        if (code == INFEASIBLE)
            return code;
    }
    for (int64_t k = 0; k < s->levels - 1 && code == DONE; ++k) {
        code = descend(s, s->classes + 1 + k);
        copy(s->x_kept, s->x, s->n);
    }
    if (code == DONE) {
        for (int64_t k = s->size - 1; k >= 0; --k)
            if (!s->is_equality[k])
                leave(s, k);
        reduce_to_last_level(s);
        code = only_rounding(hold_classes(s, s->classes + 1));
    }
    read_sides(s);
    return code;
}

/* --- Phase 4: results -------------------------------------------------------------------------------------------- */

/* Returns 1 + x'Hx of the tail and the levels. */
static double size_of_cost(const struct solver *s)
{
    double size = 1.0;
    for (int64_t i = 0; i < s->n; ++i)
        size += s->D[i] * s->x[i] * s->x[i];
    for (int64_t k = 0; k < s->n_R; ++k) {
        double value = dot(s->x, s->R + k * s->n, 0, s->n);
        size += value * value;
    }
    return size;
}

/* Returns how far row i is beyond its bounds low and high, or zero, and takes its part of the residuals. */
static double excess(struct solver *s, int64_t i, double low, double high, double length, int64_t *first)
{
    double value = s->value[i], over = value - high, under = low - value, beyond = over > under ? over : under;
    if (beyond > unreported(s, i, value, length)) {
        *first = s->of_class[i] < *first ? s->of_class[i] : *first;
        s->hints[s->of_class[i]] = LIKELY;
        return over > under ? over : -under;
    }
    double part = s->loose[i] > 0.0 ? 0.0 : larger(beyond, 0.0) / larger(fabs(value), 1.0);
    s->primal = larger(s->primal, part);
    double gap = (s->side[i] > 0.0 ? high - value : value - low) * s->multiplier[i];
    if (s->multiplier[i] != 0.0 && s->decided[i] != BY_CLASS)
        s->complementarity = larger(s->complementarity, fabs(gap) / s->size_of_cost);
    return 0.0;
}

/* Gives up: the last point at which the classes held, without multipliers. */
static void give_up(struct solver *s)
{
    copy(s->x, s->x_kept, s->n);
    for (int64_t i = 0; i < s->m; ++i)
        s->multiplier[i] = s->side[i] = 0.0;
    s->stationarity = INFINITY;
}

/* Writes all results; returns the status. */
static int64_t finish(struct solver *s, int64_t code)
{
    double length = length_of(s, s->x);
    int64_t first = s->classes + 1; /* class that is violated */
    s->size_of_cost = size_of_cost(s);
    s->primal = s->complementarity = 0.0;
    s->active = 0;
    for (int64_t c = 0; c <= s->classes; ++c)
        s->hints[c] = 0;
    times_M(s, s->value, s->x);
    for (int64_t i = 0; i < s->n_E; ++i) {
        s->multipliers_E[i] = s->multiplier[i];
        s->values_E[i] = s->value[i];
        s->excess_E[i] = excess(s, i, s->e[i], s->e[i], length, &first);
    }
    for (int64_t k = 0; k < s->n_A; ++k) {
        int64_t i = s->n_E + k;
        s->multipliers_A[k] = s->multiplier[i];
        s->sides[k] = s->side[i];
        s->values_A[k] = s->value[i];
        s->active += s->multiplier[i] != 0.0;
        s->excess_A[k] = excess(s, i, s->lower[k], s->upper[k], length, &first);
    }
    s->dependent = s->dependent_rows;
    s->relaxed = first <= s->classes;
    s->stationarity = larger(s->stationarity, s->searched);
    if (code == INFEASIBLE)
        return INFEASIBLE;
    if (!(length < INFINITY))
        return NOT_FOUND;
    if (first == 0)
        return code == DONE ? INFEASIBLE : NOT_FOUND;
    if (code != DONE)
        return LIMIT;
    if (!(worst_residual(s) <= ACCURATE))
        return INACCURATE;
    return s->relaxed ? RELAXED : DONE;
}

/* --- The solver -------------------------------------------------------------------------------------------------- */

/* Returns DONE if a guess has an accurate answer; else why not, with the sides as they were. */
static int64_t try_guess(struct solver *s)
{
    copy(s->value, s->sides, s->n_A);
    int64_t code = guess(s);
    if (code == DONE && worst_residual(s) <= ACCURATE)
        return DONE;
    copy(s->sides, s->value, s->n_A);
    return code == FAR ? FAR : NOT_FOUND;
}

static void set_sizes(struct solver *s)
{
    s->m = s->n_E + s->n_A;
    s->wide = padded(s->n);
    s->tall = (s->m + TALL - 1) & -TALL;
}

/* Solves the program; returns its status. */
int32_t active_set_solve(struct solver *s)
{
    int64_t likely = s->strict <= 0 && !s->relaxed, far = 0;
    set_sizes(s);
    s->tries = s->changes = s->dependent = 0;
    if (likely) {
        int64_t code = try_guess(s);
        if (code == DONE)
            return DONE;
        far = code == FAR;
    }
    int64_t left_out = s->dependent, code = prepare(s);
    if (code != DONE)
        return (int32_t)code;
    /* The guess left equalities out that depend on each other only in the sense of the cost. */
    if (likely && left_out > 0 && s->dependent_rows == 0 && try_guess(s) == DONE)
        return DONE;
    s->found = s->careful = s->has_inside = 0;
    s->searched = 0.0;
    code = far ? NOT_FOUND : settle(s, WARM_TRIES);
    if (code == DONE && first_violated_class(s) == 0) { /* only a search proves that class 0 cannot hold */
        code = NOT_FOUND;
        s->has_inside = 0;
    }
    for (int64_t warm = 1; warm >= 0; --warm) {
        if (code == DONE || s->has_inside < warm)
            continue;
        s->found = 0;
        code = search(s, warm);
        s->found = 1;
        if (code == INFEASIBLE)
            return (int32_t)finish(s, INFEASIBLE);
        if (code == DONE)
            code = settle(s, warm ? WARM_PROOF_TRIES : COLD_PROOF_TRIES);
    }
    if (code != DONE)
        give_up(s);
    return (int32_t)finish(s, code);
}

/* Copies the chosen unknowns and rows of a program into a smaller one, whose sizes are set. */
int32_t active_set_select(
    const struct solver *all, struct solver *s, const int64_t *of_x, const int64_t *of_E, const int64_t *of_A)
{
    for (int64_t j = 0; j < s->n; ++j) {
        s->weights[j] = all->weights[of_x[j]];
        s->pulls[j] = all->pulls[of_x[j]];
        s->regularisation[j] = all->regularisation[of_x[j]];
        for (int64_t i = 0; i < s->n_R; ++i)
            s->R[i * s->n + j] = all->R[i * all->n + of_x[j]];
        for (int64_t i = 0; i < s->n_E; ++i)
            s->E[i * s->n + j] = all->E[of_E[i] * all->n + of_x[j]];
        for (int64_t i = 0; i < s->n_A; ++i)
            s->A[i * s->n + j] = all->A[of_A[i] * all->n + of_x[j]];
    }
    for (int64_t i = 0; i < s->n_R; ++i)
        s->r[i] = all->r[i];
    for (int64_t i = 0; i < s->n_E; ++i)
        s->e[i] = all->e[of_E[i]];
    for (int64_t i = 0; i < s->n_A; ++i) {
        s->lower[i] = all->lower[of_A[i]];
        s->upper[i] = all->upper[of_A[i]];
    }
    return DONE;
}

/* --- The workspace ----------------------------------------------------------------------------------------------- */

#ifndef GAP /* numbers between arrays, and what happens to them: sanitizers get a gap that nobody may touch */
#define GAP 0
#define POISON(address, bytes)
#endif

struct memory {
    double *base; /* null while only the size is computed */
    int64_t used; /* numbers */
};

/* Returns the next `count` numbers; starts of arrays are multiples of LANES. */
static double *take(struct memory *memory, int64_t count)
{
    int64_t start = memory->used;
    memory->used = padded(start + count) + GAP;
    if (!memory->base)
        return 0;
    POISON(memory->base + start + count, (memory->used - start - count) * (int64_t)sizeof(double));
    return memory->base + start;
}

static int64_t *take_integers(struct memory *memory, int64_t count) { return (int64_t *)(void *)take(memory, count); }

static void arrange_vectors(struct solver *s, struct memory *memory, int64_t m, int64_t rows)
{
    double **of_unknowns[] = {
        &s->f, &s->beta, &s->y, &s->b, &s->scratch, &s->D, &s->pull, &s->gradient, &s->balance, &s->u, &s->sign,
        &s->d, &s->r_dual, &s->step, &s->x_kept, &s->x_inside};
    double **of_constraints[] = {
        &s->low, &s->high, &s->norm, &s->loose, &s->value, &s->side, &s->multiplier, &s->target, &s->slope,
        &s->violated_side, &s->found_multiplier};
    int64_t **counts_of_constraints[] = {&s->of_class, &s->fixed, &s->decided, &s->in_W, &s->blocking};
    double **of_rows[] = {&s->aim, &s->squared, &s->left, &s->deviation, &s->delta};
    int64_t **counts_of_rows[] = {&s->origin, &s->is_pivot, &s->spare};
    int64_t **counts_of_unknowns[] = {&s->pivot, &s->W, &s->is_equality};
    for (uint64_t k = 0; k < sizeof of_unknowns / sizeof *of_unknowns; ++k)
        *of_unknowns[k] = take(memory, s->wide);
    for (uint64_t k = 0; k < sizeof of_constraints / sizeof *of_constraints; ++k)
        *of_constraints[k] = take(memory, s->tall);
    for (uint64_t k = 0; k < sizeof counts_of_constraints / sizeof *counts_of_constraints; ++k)
        *counts_of_constraints[k] = take_integers(memory, m);
    for (uint64_t k = 0; k < sizeof of_rows / sizeof *of_rows; ++k)
        *of_rows[k] = take(memory, padded(rows));
    for (uint64_t k = 0; k < sizeof counts_of_rows / sizeof *counts_of_rows; ++k)
        *counts_of_rows[k] = take_integers(memory, rows);
    for (uint64_t k = 0; k < sizeof counts_of_unknowns / sizeof *counts_of_unknowns; ++k)
        *counts_of_unknowns[k] = take_integers(memory, s->n);
}

/*
 * Places the workspace for programs of these sizes and less in `memory`, or, if that is null, places nothing.
 * Returns how many bytes it takes.
 */
int64_t active_set_arrange(struct solver *s, double *base)
{
    struct memory memory = {base, 0};
    set_sizes(s);
    int64_t n = s->n, m = s->m, wide = s->wide, rows = m + s->n_R + n, steps = s->classes + s->levels + 4;
    int64_t columns = padded(1 + s->n_E + (s->n_A < n ? s->n_A : n));
    arrange_vectors(s, &memory, m, rows);
    double **square[] = {&s->H, &s->reflector, &s->Z, &s->J, &s->C};
    for (uint64_t k = 0; k < sizeof square / sizeof *square; ++k)
        *square[k] = take(&memory, n * wide);
    s->V = take(&memory, n * columns);
    s->S = take(&memory, columns * columns);
    s->rhs = take(&memory, columns);
    s->squares = take(&memory, columns);
    s->guessed = take_integers(&memory, s->n_A);
    s->M = take(&memory, m * wide);
    s->M_T = take(&memory, n * s->tall);
    s->norm_R = take(&memory, s->n_R);
    s->T = take(&memory, rows * wide);
    s->F = take(&memory, rows * wide);
    s->small = take(&memory, padded(rows) * padded(rows));
    s->first_row = take_integers(&memory, steps);
    s->first_coordinate = take_integers(&memory, steps);
    return memory.used * (int64_t)sizeof(double);
}

/* Returns the bytes of a struct solver, of which the caller knows the public part. */
int64_t active_set_bytes(void) { return (int64_t)sizeof(struct solver); }
