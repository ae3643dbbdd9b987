/* Runs the solver in C beside the present machine code, on the tables of arguments that `CompiledSolver` makes. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define GAP 16
#define POISON(address, bytes) __asan_poison_memory_region(address, bytes)
#endif

#ifdef OBJECT /* the solver is linked, as the package compiles it; only its types come from the source */
#define active_set_solve not_used
#include SOURCE
#undef active_set_solve
int32_t active_set_solve(struct solver *s);
#else
#include SOURCE
#endif

/* Places in the table: sizes, then addresses. */
enum {
    N, N_R, N_E, N_A, LEVELS, DIAGONAL, CLASSES, STRICT, GUESSES, LIMIT_, R_, r_, weights_, pulls_, regularisation_, E_, e_,
    A_, lower_, upper_, sides_, settings_, x_, info_, multipliers_E_, excess_E_, values_E_, multipliers_A_, excess_A_,
    values_A_, FIRST_PRIVATE
};
enum { INTEGERS = FIRST_PRIVATE + 7 + 11 + 18 + 12 }; /* ends, order, classes_E, classes_A, ..., hints, ..., count */

static int32_t (*reference)(int64_t *);
void set_reference(int32_t (*function)(int64_t *)) { reference = function; }

/* Calls, differences of status, of sides, of changes, of hints; worst relative difference of x, of multipliers. */
double found[8];
int64_t statuses[16];
static int64_t hints_at = INTEGERS + 13, count_at = INTEGERS + 19;

static double worst_difference(const double *a, const double *b, int64_t n)
{
    double worst = 0.0, size = 1.0;
    for (int64_t i = 0; i < n; ++i)
        size = fabs(a[i]) > size ? fabs(a[i]) : size;
    for (int64_t i = 0; i < n; ++i)
        if (!(fabs(a[i] - b[i]) <= worst))
            worst = fabs(a[i] - b[i]);
    return worst / size;
}

static double *copy_of(const double *array, int64_t count, int64_t room)
{
    double *made = calloc((size_t)(count + room + 1), sizeof(double));
    if (count)
        memcpy(made, array, (size_t)count * sizeof(double));
    return made;
}

#define DOUBLES(k) ((double *)table[k])
#define INDICES(k) ((int64_t *)table[k])

int32_t solve_in_c(int64_t *table);

static struct solver *workspace(struct solver *s)
{
    static double *memory;
    static int64_t room;
    int64_t bytes = active_set_arrange(s, 0);
#ifdef __SANITIZE_ADDRESS__
    room = 0;
    if (memory)
        __asan_unpoison_memory_region(memory, 1), free(memory);
    memory = 0;
#endif
    if (bytes > room) {
        free(memory);
        memory = aligned_alloc(64, (size_t)bytes); /* a vector that crosses a cache line costs twice */
        memset(memory, 0, (size_t)bytes);
        room = bytes;
    }
    active_set_arrange(s, memory);
    return s;
}

/* The solver in C on a table; results and state go where the table says. */
int32_t solve_in_c(int64_t *table)
{
    struct solver s;
    memset(&s, 0, sizeof s);
    int64_t *count = INDICES(count_at);
    s.n = table[N], s.n_R = table[N_R], s.n_E = table[N_E], s.n_A = table[N_A], s.levels = table[LEVELS];
    s.diagonal = table[DIAGONAL], s.classes = table[CLASSES], s.strict = table[STRICT], s.guesses = table[GUESSES];
    s.limit = table[LIMIT_], s.rank_tolerance = DOUBLES(settings_)[0];
    s.R = DOUBLES(R_), s.r = DOUBLES(r_), s.weights = DOUBLES(weights_), s.pulls = DOUBLES(pulls_);
    s.regularisation = DOUBLES(regularisation_), s.E = DOUBLES(E_), s.e = DOUBLES(e_), s.A = DOUBLES(A_);
    s.lower = DOUBLES(lower_), s.upper = DOUBLES(upper_), s.sides = DOUBLES(sides_), s.x = DOUBLES(x_);
    s.multipliers_E = DOUBLES(multipliers_E_), s.multipliers_A = DOUBLES(multipliers_A_);
    s.excess_E = DOUBLES(excess_E_), s.excess_A = DOUBLES(excess_A_);
    s.values_E = DOUBLES(values_E_), s.values_A = DOUBLES(values_A_);
    s.ends = INDICES(INTEGERS), s.order = INDICES(INTEGERS + 1);
    s.classes_E = INDICES(INTEGERS + 2), s.classes_A = INDICES(INTEGERS + 3), s.hints = INDICES(hints_at);
    s.relaxed = count[5], s.guess_rank = DOUBLES(settings_)[3];
    int32_t status = active_set_solve(workspace(&s));
    double *info = DOUBLES(info_);
    info[0] = s.stationarity, info[1] = s.primal, info[2] = s.complementarity;
    info[3] = (double)s.tries, info[4] = (double)s.active, info[5] = (double)s.dependent;
    count[5] = s.relaxed, count[1] = s.changes, DOUBLES(settings_)[3] = s.guess_rank;
    return status;
}

/* Both, from the same state; the results are those of the present code, and `found` counts differences. */
int32_t solve_both(int64_t *table)
{
    int64_t n = table[N], n_E = table[N_E], n_A = table[N_A], classes = table[CLASSES], own[INTEGERS + 20];
    memcpy(own, table, sizeof own);
    double *sides = copy_of(DOUBLES(sides_), n_A, 8), *settings = copy_of(DOUBLES(settings_), 8, 0);
    double *x = copy_of(DOUBLES(x_), n, 8), *info = copy_of(DOUBLES(info_), 8, 0);
    double *rows[6] = {copy_of(DOUBLES(multipliers_E_), n_E, 0), copy_of(DOUBLES(excess_E_), n_E, 0),
        copy_of(DOUBLES(values_E_), n_E, 0), copy_of(DOUBLES(multipliers_A_), n_A, 0),
        copy_of(DOUBLES(excess_A_), n_A, 0), copy_of(DOUBLES(values_A_), n_A, 0)};
    int64_t hints[64], count[16];
    memcpy(hints, INDICES(hints_at), (size_t)(classes + 1) * sizeof *hints);
    memcpy(count, INDICES(count_at), sizeof count);
    own[sides_] = (int64_t)sides, own[settings_] = (int64_t)settings, own[x_] = (int64_t)x, own[info_] = (int64_t)info;
    for (int64_t k = 0; k < 6; ++k)
        own[multipliers_E_ + k] = (int64_t)rows[k];
    own[hints_at] = (int64_t)hints, own[count_at] = (int64_t)count;
    int32_t theirs = reference(table), ours = solve_in_c(own);
    ++found[0];
    ++statuses[theirs];
    if (ours != theirs) {
        ++found[1];
        if (getenv("SHOW"))
            fprintf(stderr, "status %d instead of %d, %g %g %g | %g %g %g, changes %ld %ld\n", ours, theirs, info[0], info[1],
                info[2], DOUBLES(info_)[0], DOUBLES(info_)[1], DOUBLES(info_)[2], (long)count[1],
                (long)INDICES(count_at)[1]);
    } else if (theirs == DONE || theirs == RELAXED || theirs == INACCURATE || theirs == LIMIT) {
        int64_t other = 0;
        for (int64_t i = 0; i < n_A; ++i)
            other |= sides[i] != DOUBLES(sides_)[i] && DOUBLES(lower_)[i] != DOUBLES(upper_)[i];
        found[2] += (double)other;
        found[3] += info[3] != DOUBLES(info_)[3] || count[1] != INDICES(count_at)[1];
        found[4] += memcmp(hints, INDICES(hints_at), (size_t)(classes + 1) * sizeof *hints) != 0 ||
                    info[4] != DOUBLES(info_)[4] || info[5] != DOUBLES(info_)[5];
        double of_x = worst_difference(DOUBLES(x_), x, n);
        found[5] = of_x > found[5] ? of_x : found[5];
        found[6] += of_x > 1e-9;
        for (int64_t k = 0; k < 6; ++k) {
            double off = worst_difference(DOUBLES(multipliers_E_ + k), rows[k], k < 3 ? n_E : n_A);
            found[7] = off > found[7] ? off : found[7];
        }
        if (getenv("SHOW") && (other || of_x > 1e-9))
            fprintf(stderr, "status %d: sides differ %ld, x %g, tries %g %g, changes %ld %ld\n", theirs, (long)other, of_x,
                info[3], DOUBLES(info_)[3], (long)count[1], (long)INDICES(count_at)[1]);
    }
    free(sides), free(settings), free(x), free(info);
    for (int64_t k = 0; k < 6; ++k)
        free(rows[k]);
    return theirs;
}
