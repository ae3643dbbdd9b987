/*
 * Solves random programs, most of them awkward, with the solver in C, and checks every answer by itself: whether the
 * status is the one that the program was made for, whether rows hold, whether multipliers prove the optimum.
 *
 *     fuzz FIRST LAST [NAME]     seeds; prints how many programs, statuses, wrong answers
 *
 * Build it with -fsanitize=address,undefined: each array has the size of the contract, with a gap behind it. With
 * -DREFERENCE it also calls `reference_solve` on a table of arguments and counts differences of status and x.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define GAP 16
#define POISON(address, bytes) __asan_poison_memory_region(address, bytes)
#endif

#ifdef REFERENCE /* both are linked; only the types of this one come from the source */
#define active_set_solve not_used
#include SOURCE
#undef active_set_solve
int32_t active_set_solve(solver *s);
int32_t reference_solve(int64_t *table);
#else
#include SOURCE
#endif

static uint64_t state;

static uint64_t random_bits(void) { /* splitmix64 */
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static double uniform(double low, double high) { return low + (high - low) * (double)(random_bits() >> 11) * 0x1p-53; }
static integer whole(integer low, integer high) { return low + (integer)(random_bits() % (uint64_t)(high - low + 1)); }
static integer chance(double part) { return uniform(0.0, 1.0) < part; }
static double normal(void) { return uniform(-1, 1) + uniform(-1, 1) + uniform(-1, 1); }

/* What the program was made for. */
struct truth {
    integer finite, convex;
    integer holds; /* classes below this one can hold: proven by x0, if the numbers are of ordinary size */
    integer ordinary; /* rows of ordinary size that do not nearly repeat each other */
    integer huge;     /* whether a number was replaced by an awkward one */
};

static double *doubles(integer count) { return calloc((size_t)(count + LANES), sizeof(double)); }
static integer *integers(integer count) { return calloc((size_t)(count + 1), sizeof(integer)); }

static solver *new_solver(void) {
    solver *s = calloc(1, sizeof *s);
    s->n = chance(0.02) ? whole(13, 40) : whole(1, 12);
    s->strict = chance(0.4);
    s->levels = s->strict ? whole(1, 4) : 1;
    s->n_E = whole(0, s->n > 6 ? 6 : s->n + 1);
    s->n_A = chance(0.02) ? whole(20, 60) : whole(0, 18);
    s->classes = whole(0, 3);
    s->diagonal = whole(0, s->levels - 1);
    s->guesses = whole(0, 4);
    s->limit = chance(0.1) ? whole(0, 20) : 100 + 10 * s->n;
    s->rank_tolerance = chance(0.5) ? 1e-4 : 1e-9;
    s->ends = integers(s->levels);
    for (integer k = 0; k < s->levels; ++k) s->ends[k] = s->n_R += whole(0, 5);
    s->order = integers(s->n_R);
    for (integer k = 0; k < s->n_R; ++k) s->order[k] = k;
    for (integer k = s->n_R - 1; k > 0; --k) {
        integer j = whole(0, k), kept = s->order[k];
        s->order[k] = s->order[j], s->order[j] = kept;
    }
    s->R = doubles(s->n_R * s->n), s->r = doubles(s->n_R), s->E = doubles(s->n_E * s->n), s->e = doubles(s->n_E);
    s->A = doubles(s->n_A * s->n), s->lower = doubles(s->n_A), s->upper = doubles(s->n_A);
    s->weights = doubles(s->n), s->pulls = doubles(s->n), s->regularisation = doubles(s->n);
    s->classes_E = integers(s->n_E), s->classes_A = integers(s->n_A);
    FOR(i, 0, s->n_E) s->classes_E[i] = whole(0, s->classes);
    FOR(i, 0, s->n_A) s->classes_A[i] = whole(0, s->classes);
    s->sides = doubles(s->n_A), s->hints = integers(s->classes + 1), s->x = doubles(s->n);
    s->multipliers_E = doubles(s->n_E), s->excess_E = doubles(s->n_E), s->values_E = doubles(s->n_E);
    s->multipliers_A = doubles(s->n_A), s->excess_A = doubles(s->n_A), s->values_A = doubles(s->n_A);
    s->guess_rank = s->rank_tolerance * s->rank_tolerance;
    return s;
}

static void free_solver(solver *s) {
    void *arrays[] = {s->R, s->r, s->E, s->e, s->A, s->lower, s->upper, s->weights, s->pulls, s->regularisation, s->ends,
        s->order, s->classes_E, s->classes_A, s->sides, s->hints, s->x, s->multipliers_E, s->excess_E, s->values_E,
        s->multipliers_A, s->excess_A, s->values_A, s};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) free(arrays[k]);
}

static double product(const double *a, const double *b, integer n) {
    double sum = 0.0;
    FOR(j, 0, n) sum += a[j] * b[j];
    return sum;
}

/* Rows of one matrix: some repeat others, are nearly so, are combinations, zero, or of another scale. */
static void draw_rows(double *rows, integer count, integer n, integer *ordinary) {
    FOR(i, 0, count) {
        double *row = rows + i * n, size = 1.0;
        FOR(j, 0, n) row[j] = chance(0.2) ? 0.0 : normal();
        if (i > 0 && chance(0.15)) {
            const double *other = rows + whole(0, i - 1) * n;
            double factor = chance(0.5) ? 1.0 : normal(), off = chance(0.5) ? 0.0 : pow(10.0, uniform(-12, -2));
            FOR(j, 0, n) row[j] = factor * other[j] + off * row[j];
            *ordinary &= off == 0.0;
        }
        if (chance(0.05)) size = pow(10.0, uniform(-6, 6)), *ordinary = 0;
        if (chance(0.02)) size = 0.0, *ordinary = 0;
        FOR(j, 0, n) row[j] *= size;
    }
}

static double awkward(void) {
    double values[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e-310, 1e150};
    return values[whole(0, 6)];
}

static struct truth draw(solver *s) {
    struct truth truth = {1, 1, s->classes + 1, 1, 0};
    integer n = s->n;
    double x0[64], weight = pow(10.0, uniform(-6, 1)), tight = pow(10.0, uniform(-4, 1));
    FOR(j, 0, n) x0[j] = normal();
    draw_rows(s->R, s->n_R, n, &truth.ordinary);
    truth.ordinary = 1; /* rows of the cost do not make a program infeasible */
    draw_rows(s->E, s->n_E, n, &truth.ordinary);
    draw_rows(s->A, s->n_A, n, &truth.ordinary);
    FOR(i, 0, s->n_R) s->r[i] = 3.0 * normal();
    FOR(j, 0, n) {
        s->weights[j] = chance(0.3) ? 0.0 : weight * uniform(0.5, 2.0);
        s->pulls[j] = s->weights[j] * normal();
        s->regularisation[j] = weight * pow(10.0, uniform(-6, 0));
    }
    integer broken = chance(0.5) ? whole(0, s->classes) : s->classes + 1; /* rows from this class on do not fit x0 */
    truth.holds = broken;
    FOR(i, 0, s->n_E) {
        s->e[i] = product(s->E + i * n, x0, n);
        if (s->classes_E[i] >= broken && chance(0.5)) s->e[i] += normal();
    }
    FOR(i, 0, s->n_A) {
        double value = product(s->A + i * n, x0, n);
        if (s->classes_A[i] >= broken && chance(0.5)) value += normal();
        s->lower[i] = chance(0.3) ? -INFINITY : value - (chance(0.1) ? 0.0 : tight * uniform(0, 1));
        s->upper[i] = chance(0.3) ? INFINITY : value + (chance(0.1) ? 0.0 : tight * uniform(0, 1));
        if (chance(0.05)) s->lower[i] = s->upper[i] = value;
        if (s->classes_A[i] >= broken && chance(0.05)) s->lower[i] = value + 0.1, s->upper[i] = value - 0.1;
    }
    if (chance(0.03)) {
        double *arrays[] = {s->R, s->r, s->E, s->e, s->A, s->weights, s->pulls, s->lower, s->upper};
        integer sizes[] = {s->n_R * n, s->n_R, s->n_E * n, s->n_E, s->n_A * n, n, n, s->n_A, s->n_A};
        integer k = whole(0, 8);
        double value = awkward();
        truth.ordinary = 0, truth.huge = 1;
        if (getenv("SHOW")) printf("array %ld gets %g\n", (long)k, value);
        if (sizes[k] > 0) {
            arrays[k][whole(0, sizes[k] - 1)] = value;
            if (!isfinite(value)) truth.finite = k < 7 || isnan(value) || (k == 7) == (value > 0) ? 0 : 1;
            if (k == 5 && value < 0) truth.convex = 0;
            truth.holds = 0;
        }
    }
    if (chance(0.01)) s->weights[whole(0, n - 1)] = -1.0, truth.convex = 0;
    if (chance(0.2)) FOR(i, 0, s->n_A) s->sides[i] = (double)whole(-1, 1);
    if (chance(0.05)) FOR(c, 0, s->classes + 1) s->hints[c] = whole(0, 1);
    if (s->n_R) s->limit = chance(0.98) ? s->limit : whole(0, 10);
    return truth;
}

/* Returns what is wrong with an answer, or null. */
static const char *wrong(const solver *s, const struct truth *truth, integer status) {
    integer n = s->n;
    double length = 0.0, sizes = 1.0, g[64];
    if (status < 0 || status > INFEASIBLE || status == CONFLICT) return "no status";
    if (status == NOT_CONVEX) return truth->convex ? "convex" : 0;
    if (status == NOT_FINITE) return truth->finite && truth->ordinary ? "finite" : 0;
    if (!truth->finite) return "not finite";
    if (!truth->convex) return s->strict ? "not convex" : 0; /* the sum of the cost may be convex */
    if (truth->huge) return 0;
    integer limited = s->limit < 100 + 10 * n;
    if (status == NOT_FOUND) return truth->ordinary && !limited ? "not found" : 0;
    if (status == INFEASIBLE) return truth->ordinary && truth->holds > 0 ? "feasible" : 0;
    FOR(j, 0, n) if (!isfinite(s->x[j])) return "x is not finite";
    FOR(j, 0, n) length = larger(length, fabs(s->x[j]));
    FOR(i, 0, s->n_E + s->n_A) {
        integer k = i - s->n_E;
        const double *row = k < 0 ? s->E + i * n : s->A + k * n;
        double value = product(row, s->x, n), norm = 0.0, low = k < 0 ? s->e[i] : s->lower[k], high = k < 0 ? s->e[i] : s->upper[k];
        FOR(j, 0, n) norm += fabs(row[j]);
        double near = 1e-6 * (1.0 + fabs(value) + norm * length) + s->rank_tolerance * 2 * (1.0 + fabs(value) + norm * length) * (k < 0);
        double beyond = larger(value - high, low - value);
        integer of_class = k < 0 ? s->classes_E[i] : s->classes_A[k];
        if ((status == DONE || of_class == 0) && beyond > near) return "a row is violated";
        if (status == RELAXED && truth->ordinary && of_class < truth->holds && beyond > near) return "could hold";
    }
    if (status == RELAXED && truth->ordinary && truth->holds > s->classes && !limited) return "all could hold";
    if (status != DONE || s->strict) return 0;
    FOR(j, 0, n) {
        g[j] = (s->weights[j] + s->regularisation[j]) * s->x[j] - s->pulls[j];
        sizes = larger(sizes, fabs(s->weights[j] * s->x[j]) + fabs(s->pulls[j]));
    }
    FOR(i, 0, s->n_R + s->n_E + s->n_A) {
        integer e = i - s->n_R, a = e - s->n_E;
        const double *row = e < 0 ? s->R + i * n : a < 0 ? s->E + e * n : s->A + a * n;
        double factor = e < 0 ? product(row, s->x, n) - s->r[i] : a < 0 ? s->multipliers_E[e] : s->multipliers_A[a];
        FOR(j, 0, n) {
            double rounding = e < 0 ? (fabs(s->r[i]) + product(row, row, n) * length) * fabs(row[j]) : 0.0;
            g[j] += factor * row[j];
            sizes = larger(sizes, fabs(factor * row[j]) + rounding);
        }
    }
    FOR(j, 0, n) if (!(fabs(g[j]) <= 1e-5 * sizes)) {
        if (getenv("SHOW")) printf("g %g of %g, said %g %g %g, |x| %g, dependent %ld tries %ld changes %ld\n", g[j], sizes, s->stationarity, s->primal, s->complementarity, length, (long)s->dependent, (long)s->tries, (long)s->changes);
        return s->dependent ? 0 : "not stationary";
    }
    for (integer k = 0; k < s->n_A && truth->ordinary && !s->dependent; ++k) {
        double push = s->multipliers_A[k] * sqrt(product(s->A + k * n, s->A + k * n, n));
        if (push > 1e-5 * sizes && !(s->upper[k] < INFINITY)) return "a multiplier without a bound";
        if (push < -1e-5 * sizes && !(s->lower[k] > -INFINITY)) return "a multiplier without a bound";
    }
    return 0;
}

#ifdef REFERENCE
static const double *of_reference; /* residuals */

/* The same program on the present machine code: its own arrays, in the order of its table. Returns its status. */
static int32_t reference_of(const solver *s, double *x, double *sides) {
    static double memory[98][32768]; /* private arrays are too large; what they hold from before has no meaning */
    integer n = s->n, sizes[] = {s->n_R * n, s->n_R, n, n, n, s->n_E * n, s->n_E, s->n_A * n, s->n_A, s->n_A, s->n_A};
    const double *given[] = {s->R, s->r, s->weights, s->pulls, s->regularisation, s->E, s->e, s->A, s->lower, s->upper,
        s->sides};
    int64_t table[98] = {n, s->n_R, s->n_E, s->n_A, s->levels, s->diagonal, s->classes, s->strict, s->guesses, s->limit};
    FOR(k, 10, 98) {
        table[k] = (int64_t)memory[k];
        if (k < 21) memcpy(memory[k], given[k - 10], (size_t)sizes[k - 10] * sizeof(double));
        if (k < 21) memset(memory[k] + sizes[k - 10], 0, 32 * sizeof(double));
    }
    double *settings = memory[21];
    settings[0] = s->rank_tolerance, settings[1] = 1e-8, settings[2] = 1e-7, settings[3] = s->guess_rank, settings[4] = 1e-9;
    memcpy(memory[78], s->ends, (size_t)s->levels * 8), memcpy(memory[79], s->order, (size_t)s->n_R * 8);
    memcpy(memory[80], s->classes_E, (size_t)s->n_E * 8), memcpy(memory[81], s->classes_A, (size_t)s->n_A * 8);
    memcpy(memory[91], s->hints, (size_t)(s->classes + 1) * 8);
    ((int64_t *)(void *)memory[97])[5] = s->relaxed;
    int32_t status = reference_solve(table);
    of_reference = memory[23];
    memcpy(x, memory[22], (size_t)n * 8);
    memcpy(sides, memory[20], (size_t)s->n_A * 8);
    return status;
}
#endif

int main(int count, char **words) {
    uint64_t first = strtoull(words[1], 0, 10), last = strtoull(words[2], 0, 10);
    integer programs = 0, bad = 0, other_status = 0, other_x = 0, other_sides = 0, statuses[10] = {0};
    double worst = 0.0;
    (void)count;
    for (uint64_t seed = first; seed < last; ++seed) {
        state = seed * 0x2545f4914f6cdd1du + 1;
        solver *s = new_solver();
        double *memory = aligned_alloc(64, (size_t)padded(active_set_arrange(s, 0)));
        memset(memory, 0, (size_t)active_set_arrange(s, 0));
        active_set_arrange(s, memory);
        for (integer k = 0; k < 4; ++k) {
            struct truth truth = draw(s);
#ifdef REFERENCE
            double x[64], sides[64];
            int32_t theirs = reference_of(s, x, sides);
#endif
            int32_t status = active_set_solve(s);
            ++programs;
            ++statuses[status];
            const char *reason = wrong(s, &truth, status);
            if (reason) {
                ++bad;
                if (bad < 20 || getenv("ALL")) printf("seed %lu.%ld: status %d, but %s (n %ld, strict %ld, limit %ld)\n", (unsigned long)seed, (long)k, status, reason, (long)s->n, (long)s->strict, (long)s->limit);
            }
#ifdef REFERENCE
            if (theirs != status) {
                if (getenv("SHOW")) printf("%g %g %g | %g %g %g, tries %ld %g changes %ld\n", s->stationarity, s->primal, s->complementarity, of_reference[0], of_reference[1], of_reference[2], (long)s->tries, of_reference[3], (long)s->changes);
                if (++other_status < 10) printf("seed %lu.%ld: status %d, theirs %d\n", (unsigned long)seed, (long)k, status, theirs);
            } else if (status == DONE || status == RELAXED || status == INACCURATE || status == LIMIT) {
                double size = 1.0, off = 0.0;
                integer other = 0;
                FOR(j, 0, s->n) size = larger(size, fabs(x[j])), off = larger(off, fabs(x[j] - s->x[j]));
                FOR(i, 0, s->n_A) other |= sides[i] != s->sides[i] && s->lower[i] != s->upper[i];
                other_sides += other;
                if (off / size > 1e-9 && ++other_x < 5) printf("seed %lu.%ld: status %d x off by %g\n", (unsigned long)seed, (long)k, status, off / size);
                worst = larger(worst, off / size);
            }
#endif
        }
#ifdef __SANITIZE_ADDRESS__
        __asan_unpoison_memory_region(memory, (size_t)active_set_arrange(s, 0));
#endif
        free(memory);
        free_solver(s);
    }
    printf("%ld programs, statuses", (long)programs);
    FOR(k, 0, 10) printf(" %ld", (long)statuses[k]);
    printf(", wrong %ld; other than the reference: status %ld, sides %ld, x %ld (worst %g)\n", (long)bad, (long)other_status, (long)other_sides, (long)other_x, worst);
    return bad > 0;
}
