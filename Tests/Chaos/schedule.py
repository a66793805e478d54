"""Which faults come when: a pure function of the seed."""

import random
from dataclasses import dataclass

# Out of a hundred faults, about so many.
WEIGHTS = {
    "kill": 22, "stop": 15, "terminate": 13, "new replica": 8, "client kill": 11,
    "redis kill": 6, "redis power loss": 5, "redis stop": 3, "goaway": 9, "drop": 8,
}


@dataclass(frozen=True)
class Fault:
    kind: str
    # Seconds after the start of the load.
    at: float
    # Chooses among those that are there then.
    choice: int
    # Seconds that it lasts (stop, Redis away), or until a replacement comes (kill, terminate).
    lasts: float
    # Of a power loss: seconds of the append-only file that are gone.
    lost: float


def duration(kind, chance):
    if kind == "stop":
        # Longer than the 5 s after which a worker counts as dead, now and then much longer.
        return chance.uniform(5.5, 8) if chance.random() < 0.85 else chance.uniform(8, 16)
    if kind == "redis stop":
        return chance.uniform(0.5, 6.5)
    if kind.startswith("redis"):
        return chance.uniform(0.1, 2.5)
    return chance.choice([0.05, 0.5, 1, 2, 4])


def make(seed, count, seconds):
    """`count` faults within `seconds`: every kind at least once if there are enough, else by weight."""
    chance = random.Random(seed)
    kinds = list(WEIGHTS)
    drawn = kinds[:] if count >= 2 * len(kinds) else []
    drawn += chance.choices(kinds, [WEIGHTS[kind] for kind in kinds], k=count - len(drawn))
    chance.shuffle(drawn)
    times = sorted(chance.uniform(1, seconds) for _ in drawn)
    return [Fault(kind, at, chance.randrange(1 << 30), duration(kind, chance), chance.uniform(0.1, 1.0))
            for kind, at in zip(drawn, times)]
