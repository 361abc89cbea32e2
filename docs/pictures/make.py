"""Draw the pictures of the documentation: ``python docs/pictures/make.py``.

They are kept in the repository; the tests check that they are current.
"""

from pathlib import Path

import bowfree as bf


def pictures() -> dict[str, str]:
    """Return the pictures, file name to SVG."""
    hidden = bf.parse("pot -> roots, soil -> roots, soil -> fruit, leaves -> fruit")
    demo = bf.datasets.demo_model().graph
    return {
        "hidden.svg": hidden.to_svg(),
        "projected.svg": hidden.latent_projection(["soil"]).to_svg(),
        "bow.svg": bf.parse("x -> y <-> x").to_svg(),
        "districts.svg": bf.parse("a -> b <-> c <-> d, e -> c, d -> f").to_svg(),
        "chain-class.svg": bf.equivalence_class(bf.parse("x -> y -> z")).to_svg(),
        "collider-class.svg": bf.equivalence_class(bf.parse("x -> y <- z, y -> w")).to_svg(),
        "demo-graph.svg": demo.to_svg(),
        "demo-class.svg": bf.equivalence_class(demo).to_svg(),
    }


if __name__ == "__main__":
    for name, svg in pictures().items():
        Path(__file__).with_name(name).write_text(svg, encoding="utf-8")
