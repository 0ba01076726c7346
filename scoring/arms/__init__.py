"""Tables of a batch by arm: figures clustered by task, differences to the first arm, and every planned unit counted."""
