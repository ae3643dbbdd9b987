/* The two hottest functions of the solver alone, for the trial of languages. */

#include "active_set.c"

/* Columns of V and their multipliers, from a cost H that is summed already (it is factored in place). */
int32_t trial_guess(solver *s, integer count) {
    integer columns = padded(count);
    if (factor_cost(s) != DONE) return NOT_CONVEX;
    forward_substitute(s, columns);
    guess_multipliers(s, count, columns);
    return DONE;
}

int32_t trial_factor(solver *s, integer rows, double rank) { return (int32_t)factor_level(s, 0, rows, rows, 0, rank); }
