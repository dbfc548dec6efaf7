"""The forms of keys and tokens as those who issue them publish them: a prefix, then a fixed kind of text.

Each repeats a bounded number of times, so that its cost is linear in the text whatever the text is.
"""

PUBLISHED_KEYS = (
    r"(?:A3T[A-Z0-9]|AKIA|ASIA|AROA|AIDA|AGPA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16}",  # Amazon Web Services
    r"gh[pousr]_[0-9A-Za-z]{36,255}",  # GitHub
    r"github_pat_[0-9A-Za-z_]{22,255}",
    r"glpat-[0-9A-Za-z_-]{20,64}",  # GitLab
    r"xox[abeoprs]-[0-9A-Za-z-]{10,250}",  # Slack
    r"xapp-[0-9]-[0-9A-Za-z-]{20,250}",
    r"(?:sk|rk|pk)_(?:live|test)_[0-9A-Za-z]{16,250}",  # Stripe
    r"AIza[0-9A-Za-z_-]{35}",  # Google
    r"GOCSPX-[0-9A-Za-z_-]{28}",
    r"ya29\.[0-9A-Za-z_-]{20,250}",
    r"sk-ant-[0-9A-Za-z_-]{20,250}",  # Anthropic
    r"sk-(?=[A-Za-z_-]{0,250}[0-9])(?:proj-)?[0-9A-Za-z_-]{20,250}",  # OpenAI
    r"hf_[0-9A-Za-z]{30,64}",  # Hugging Face
    r"npm_[0-9A-Za-z]{36}",
    r"pypi-[0-9A-Za-z_-]{50,250}",
    r"dckr_pat_[0-9A-Za-z_-]{27}",  # Docker
    r"SG\.[0-9A-Za-z_-]{16,64}\.[0-9A-Za-z_-]{16,64}",  # SendGrid
    r"key-[0-9a-f]{32}",  # Mailgun
    r"[0-9a-f]{32}-us[0-9]{1,2}",  # Mailchimp
    r"SK[0-9a-f]{32}",  # Twilio
    r"do[opr]_v1_[0-9a-f]{64}",  # DigitalOcean
    r"dapi[0-9a-f]{32}",  # Databricks
    r"hv[bs]\.[0-9A-Za-z_-]{24,250}",  # HashiCorp Vault
    r"sq0(?:atp|csp)-[0-9A-Za-z_-]{22,43}",  # Square
    r"shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}",  # Shopify
    r"lin_api_[0-9A-Za-z]{40}",  # Linear
    r"[MN][0-9A-Za-z]{23,25}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,38}",  # Discord
    r"[0-9]{8,10}:AA[0-9A-Za-z_-]{33}",  # Telegram
    r"eyJ[0-9A-Za-z_-]{10,2000}\.eyJ[0-9A-Za-z_-]{10,2000}\.[0-9A-Za-z_-]{10,1000}",  # JSON web token
    r"AGE-SECRET-KEY-1[0-9A-Z]{58}",  # age
    r"-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----",
)
"""Keys that their form alone gives away."""

LABELLED_KEY = r"(?<![0-9A-Za-z/+=])[0-9A-Za-z/+]{40}(?![0-9A-Za-z/+=])"
"""A secret access key of Amazon Web Services: forty characters that only a label tells from a digest."""
