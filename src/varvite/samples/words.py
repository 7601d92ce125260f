"""Text that looks like research and says nothing, drawn from a seeded stream."""

from random import Random


def _phrases(text: str) -> list[str]:
    return text.split("|")


_TOPICS = _phrases(
    "quasiparticle effective mass|spin susceptibility|finite-size extrapolation|"
    "exchange and correlation energy|band-fit protocol|nodal surface|pair correlation|"
    "momentum distribution|screening length|order parameter|spectral weight|lattice relaxation|"
    "phase boundary|transport coefficient|renormalization factor|thermal conductivity"
)
_SYSTEMS = _phrases(
    "two-dimensional electron liquid|frustrated magnet|germanium quantum well|heavy-fermion metal|"
    "moiré bilayer|dilute Bose gas|kagome lattice|disordered superconductor|charge-ordered oxide|"
    "colloidal suspension|driven cavity|spin ice"
)
_METHODS = _phrases(
    "diffusion Monte Carlo|density-matrix renormalization|neutron scattering|cyclotron resonance|"
    "variational optimization|time-resolved photoemission|GW perturbation theory|tensor networks"
)
_WORDS = _phrases(
    "the|of|and|in|with|for|that|is|are|at|by|from|to|on|under|between|we|a|an|its|this|as|"
    "observed|computed|reported|density|parameter|systematic|limit|low|high|strong|weak|value|"
    "values|data|result|results|dependence|empirical|controlled|estimate|error|errors|sample|"
    "measured|calculation|finite|cell|number|regime|model|assumption|consistent|significant|"
    "enhancement|suppression|linear|nonlinear|scaling|function|$r_s$|$N^{-3/2}$|$m^*/m$|ħω|Å|"
    "approximately|within|across|extracted|comparison|agreement|deviation|band|wavefunction|"
    "temperature|field|critical|transition|interaction|coupling|local|global|correlation|"
    "boundary|quality|uncertainty|statistical|independent|simulation|experiment|theory"
)
_SURNAMES = _phrases(
    "Ando|Berg|Castro|Díaz|Evans|Fischer|Gauß|Hong|Ito|Jansen|Kovač|Li|Müller|Novák|Okafor|Patel|"
    "Quist|Rossi|Silva|Tanaka|Ueda|Varga|Wójcik|Xu|Yilmaz|Zhang"
)


def query(rng: Random) -> str:
    return f"{rng.choice(_SYSTEMS)} {rng.choice(_TOPICS)} {rng.choice(_METHODS)}"


def title(rng: Random) -> str:
    return (
        f"{rng.choice(_TOPICS).capitalize()} of a {rng.choice(_SYSTEMS)} by {rng.choice(_METHODS)}"
    )


def authors(rng: Random) -> str:
    return " | ".join(f"{chr(65 + rng.randrange(26))}. {rng.choice(_SURNAMES)}" for _ in range(3))


def prose(rng: Random, length: int) -> str:
    """Words up to about `length` characters."""
    count = max(4, length * 10 // 76)
    return " ".join(rng.choices(_WORDS, k=count)).capitalize() + "."


def sentence(rng: Random) -> str:
    return prose(rng, rng.randrange(30, 120))
