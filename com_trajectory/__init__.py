"""Where the centre of mass goes between contacts: 2PAC and what comes after it.

Source: [Tonneau2018].
"""
