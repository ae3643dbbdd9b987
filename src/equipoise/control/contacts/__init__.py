"""Contacts, one per file: where the robot touches the world."""

from .contact import Contact as Contact
from .contact import ContactTerms as ContactTerms
from .flat import FlatContact as FlatContact
from .point import PointContact as PointContact
from .sliding import SlidingContact as SlidingContact
