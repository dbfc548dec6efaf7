"""The route where the corpus cannot be searched: score generations, pick candidates, bring verdicts back."""

from pipelines.rank.confirm import confirm
from pipelines.rank.models import RankingModels
from pipelines.rank.run import RankOptions, rank_generations

__all__ = ["RankOptions", "RankingModels", "confirm", "rank_generations"]
