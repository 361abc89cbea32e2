// Kicks: changes larger than one edge, to leave a local optimum. None of them leaves the
// rules: each is a sequence of permitted single changes.
#pragma once

#include "search/climb.hpp"

namespace bowfree {

/// Sets `n` random pairs to random other states.
void change_randomly(Climber& climber, Rng& rng, int n);

/// Deletes all edges of a random node.
void isolate_node(Climber& climber, Rng& rng);

/// Moves a random node to one end of the order: all its edges become directed edges into it, or
/// out of it.
void move_in_order(Climber& climber, Rng& rng);

/// Reverses a random directed edge and gives both ends the parents of both, so that the reversal
/// itself costs no likelihood and the climb can prune.
void reverse_with_parents(Climber& climber, Rng& rng);

/// Climbs with edges 8, 4 and 2 times as dear: most of the graph goes, and the strongest part of
/// it comes back in another way.
void raise_penalty(Climber& climber);

}  // namespace bowfree
