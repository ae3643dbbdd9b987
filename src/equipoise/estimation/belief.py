"""The state of the filter, mean and covariance, packed into one array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra import quaternions
from ..errors import ShapeError

Array = np.ndarray


@dataclass(frozen=True)
class BeliefLayout:
    """Index ranges of the parts of a packed belief.

    The order is: quaternion, velocity, position, contact points, gyroscope and accelerometer bias, upper triangle of
    the
    covariance, two smoothed verticals for each contact (see `lean`), quaternions of the flat soles.

    Args:
        contacts: number of contact points.
        soles: number of contacts that are flat soles and therefore also have an orientation.
    """

    contacts: int
    soles: int = 0

    @classmethod
    def of_size(cls, size: int, contacts: int) -> BeliefLayout:
        """Returns the layout of a belief of `size` numbers; raises ShapeError if no number of soles gives that size."""
        layouts = [cls(contacts, soles) for soles in range(contacts + 1)]
        for layout in layouts:
            if layout.size == size:
                return layout
        sizes = " or ".join(str(layout.size) for layout in layouts)
        raise ShapeError(f"a belief with {contacts} contacts has shape (…, {sizes}), got (…, {size})")

    @property
    def n(self) -> int:
        """Dimension of the error state: 15, plus three for each contact, plus three for each sole."""
        return 15 + 3 * self.contacts + 3 * self.soles

    @property
    def size(self) -> int:
        """Length of the packed array."""
        return self.sole(self.soles).start

    quaternion, velocity, position = slice(0, 4), slice(4, 7), slice(7, 10)

    def contact(self, i: int) -> slice:
        return slice(10 + 3 * i, 13 + 3 * i)

    @property
    def gyroscope_bias(self) -> slice:
        return slice(10 + 3 * self.contacts, 13 + 3 * self.contacts)

    @property
    def accelerometer_bias(self) -> slice:
        return slice(13 + 3 * self.contacts, 16 + 3 * self.contacts)

    @property
    def covariance(self) -> slice:
        start = 16 + 3 * self.contacts
        return slice(start, start + self.n * (self.n + 1) // 2)

    def lean(self, i: int) -> slice:
        """Returns the indices of two low-pass filtered verticals (fast, slow) in the axes of contact i.

        Their difference shows that the sole rocks."""
        start = self.covariance.stop + 6 * i
        return slice(start, start + 6)

    def sole(self, j: int) -> slice:
        """Returns the indices of the quaternion of sole j."""
        start = self.lean(self.contacts).start + 4 * j
        return slice(start, start + 4)


@dataclass(frozen=True, eq=False)
class Belief:
    """Mean and covariance of the IMU's motion, the contact points and the biases; leading dimensions are batches.

    The error is right-invariant, X̄ = exp(ξ) X. Its parts have three numbers each, in this order: rotation, velocity,
    position, contact points, rotations of the soles (all in world axes), bias of the gyroscope, bias of the
    accelerometer
    (in the axes of the IMU).

    Attributes:
        numbers: the packed array, (…, size).
        contacts: number of contact points.

    Examples:
        >>> import equipoise as eq
        >>> robot = eq.load("quadruped")
        >>> estimator = eq.Estimator(robot, imu="trunk", contacts=["front_left_foot", "hind_right_foot"])
        >>> start = estimator.initial(robot.standing(), [0.0] * robot.nv)
        >>> start.covariance.shape  # five parts of three numbers and two contact points
        (21, 21)
    """

    numbers: Array
    contacts: int

    def __post_init__(self) -> None:
        BeliefLayout.of_size(([0, *np.shape(self.numbers)])[-1], self.contacts)

    @property
    def layout(self) -> BeliefLayout:
        """Index ranges of the quantities in `numbers`."""
        return BeliefLayout.of_size(self.numbers.shape[-1], self.contacts)

    @property
    def orientation(self) -> Array:
        """Rotation of the IMU in the world, R_WI, (…, 3, 3)."""
        return quaternions.rotation([self.numbers[..., i] for i in range(4)])

    @property
    def velocity(self) -> Array:
        """Velocity of the IMU in the world, (…, 3), m/s."""
        return self.numbers[..., self.layout.velocity]

    @property
    def position(self) -> Array:
        """Position of the IMU in the world, (…, 3), m."""
        return self.numbers[..., self.layout.position]

    @property
    def contact_positions(self) -> Array:
        """Positions of the contact points in the world, (…, contacts, 3), m."""
        layout = self.layout
        flat = self.numbers[..., layout.position.stop : layout.gyroscope_bias.start]
        return flat.reshape(*flat.shape[:-1], self.contacts, 3)

    @property
    def gyroscope_bias(self) -> Array:
        """Bias of the gyroscope, (…, 3), rad/s."""
        return self.numbers[..., self.layout.gyroscope_bias]

    @property
    def accelerometer_bias(self) -> Array:
        """Bias of the accelerometer, (…, 3), m/s²."""
        return self.numbers[..., self.layout.accelerometer_bias]

    @property
    def covariance(self) -> Array:
        """Covariance of the right-invariant error, (…, n, n)."""
        n = self.layout.n
        rows, columns = np.triu_indices(n)
        P = np.empty((*self.numbers.shape[:-1], n, n))
        P[..., rows, columns] = P[..., columns, rows] = self.numbers[..., self.layout.covariance]
        return P

    @classmethod
    def of(
        cls,
        R: Array,
        v: Array,
        p: Array,
        d: Array,
        gyroscope_bias: Array,
        accelerometer_bias: Array,
        covariance: Array,
        soles: Array | None = None,
    ) -> Belief:
        """Packs a belief from its parts, in the shapes of the properties above; the smoothed verticals start unknown.

        Args:
            soles: rotations of the soles in the world, (…, soles, 3, 3); identities if not given.
        """
        n = covariance.shape[-1]
        rows, columns = np.triu_indices(n)
        d = np.asarray(d, dtype=float)
        flat = d.reshape(*d.shape[:-2], -1)
        parts = [
            quaternions.from_rotation(R),
            v,
            p,
            flat,
            gyroscope_bias,
            accelerometer_bias,
            covariance[..., rows, columns],
            np.zeros((*flat.shape[:-1], 6 * d.shape[-2])),
        ]
        count = (n - 15) // 3 - d.shape[-2]
        turns = np.broadcast_to(np.eye(3), (*flat.shape[:-1], count, 3, 3)) if soles is None else np.asarray(soles)
        parts.append(quaternions.from_rotation(turns).reshape(*flat.shape[:-1], 4 * count))
        return cls(np.concatenate(parts, axis=-1), d.shape[-2])
