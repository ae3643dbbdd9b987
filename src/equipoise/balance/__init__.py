"""Centre of mass, contacts, impacts."""
