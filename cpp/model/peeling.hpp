// Members of a district that can be fitted on their own, so that a smaller district is left.
//
// Let v be a member whose spouses Q are pairwise spouses of each other and have all parents of v
// among their own. Write the errors of Q as eps_q = alpha_q eps_v + eps'_q with eps' uncorrelated
// with eps_v. Since eps_v = x_v - B_v x, row q of A = I - B turns into A_q - alpha_q A_v: it gains
// the entry of v and, as pa(v) is part of pa(q), no other. And Omega'_qr = Omega_qr - alpha_q
// alpha_r omega_vv is as free as before for q, r in Q. The map has determinant one, so it leaves
//
//     F = log |Omega| + tr(Omega^-1 A S A^T)
//
// as it is: v <-> q may be read as v -> q. Then v is alone, with a closed form, and the rest is a
// district with one member less. (Only F is meant: as a graph this may have a cycle.)
//
// With several conditions (groups.hpp) the same holds group by group where v is left alone. A group
// that sets v has no eps_v to take out of the others; so none of them may be left there: whatever
// sets v has to set Q. Where a condition has parameters of its own nothing is peeled: what v <-> q
// and v -> q have to themselves differs.
//
// The order of peeling does not matter. Peeling u leaves v peelable: if they are no spouses,
// nothing that v depends on changes but for parents that its spouses gain; if they are, both
// conditions together say that u and v have the same parents and the same other spouses (and are
// set by the same groups), and v and these all gain u. Either way the rest is the same in the end,
// and u and v add up to the same F, by the chain rule of regressions. So the members may be tried
// by index, and the score still has nothing to do with the order of the columns.
#pragma once

#include <optional>

#include "data/conditions.hpp"
#include "graph/district.hpp"

namespace bowfree {

/// The first member that can be peeled off; none if there is none, or only one member. Without
/// `conditions` there is one, without targets.
std::optional<int> peelable(const District& district, const JointData* conditions = nullptr);

/// Member v with its parents only.
District alone(const District& district, int v);

/// The other members, with v as a parent of its spouses. `v` must be peelable.
District without(const District& district, int v);

}  // namespace bowfree
