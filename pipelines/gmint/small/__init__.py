"""The published gMINT experiment in the small: data and models made here, in minutes on two cores."""
