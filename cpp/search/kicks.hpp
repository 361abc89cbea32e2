// Kicks: changes larger than one edge, to leave a local optimum.
//
// A kick disturbs the climber's graph; run.cpp chooses the kick, climbs again and decides whether
// to stay. The rules hold throughout: a kick is a sequence of single changes (`try_move` in
// kicks.cpp), of which those that the rules forbid are skipped. Except for `raise_penalty`, which
// climbs, kicks do not compute gains and cost next to nothing.
//
//   change_randomly        a few pairs anywhere       leaves the optimum without a direction
//   isolate_node           one node                   lets it find its neighbors anew
//   move_in_order          one node's edges           tries it early or late in the order
//   reverse_with_parents   one arrow and its ends     crosses the valley between the two directions
//   raise_penalty          the whole graph            keeps the strongest edges only
//
// A new kick is declared here, written in kicks.cpp by `try_move`, and added to the choice in
// run.cpp.
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
