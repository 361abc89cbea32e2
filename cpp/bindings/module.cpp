// The table of contents of `bowfree._core`.
#include "bindings/bindings.hpp"

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of bowfree; use it through the functions of the package.";
    bowfree::bindings::bind_effects(m);
    bowfree::bindings::bind_equivalence(m);
    bowfree::bindings::bind_likelihood(m);
    bowfree::bindings::bind_sampler(m);
    bowfree::bindings::bind_search(m);
    bowfree::bindings::bind_structure_chain(m);
}
