"""The review page: people judge what came out, and every look at a text is on record.

Raw text is read from the run when somebody asks for it and gives a reason; what is kept in memory and searched is
masked. Verdicts and the audit log stand in `review.sqlite`. Nothing here changes a count of the run.
"""
