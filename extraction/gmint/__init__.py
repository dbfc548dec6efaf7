"""gMINT: tells a model's training texts from others by the gradient of its own loss on each of them.

Source: Mancera, DeAlcala, Fierrez, Tolosana and Morales, "Is My Text in Your AI Model?".
"""
