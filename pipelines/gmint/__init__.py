"""gMINT audits from files: `extraction membership gmint`, and the published experiment in the small."""
