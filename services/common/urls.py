"""URLs by the WHATWG rules, and the identity that makes two of them one."""
