"""The fetcher: takes `fetch-requested`, decides how (robots, pace, protocol), reports the outcome.

It holds no state that cannot be lost and knows nothing of who asks or who reads.
"""
