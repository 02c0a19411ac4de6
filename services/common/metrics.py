"""Every metric, declared once with its meaning. No label grows with hosts or URLs."""

from prometheus_client import Counter, Gauge, Histogram

records_in = Counter(
    "recrawl_records_in_total", "Records taken from a topic and finished.", ["topic"]
)
records_out = Counter("recrawl_records_out_total", "Records delivered to a topic.", ["topic"])
dead_letters = Counter(
    "recrawl_dead_letters_total", "Records sent to dead-letters.", ["topic", "reason"]
)
deaths = Counter(
    "recrawl_deaths_total", "Partitions taken over from a process that died.", ["topic"]
)
careful = Gauge(
    "recrawl_careful", "1 while records are handled one at a time to find one that kills."
)
tombstones = Counter("recrawl_tombstones_total", "Records without a value, passed over.", ["topic"])
parts_dropped = Counter(
    "recrawl_parts_dropped_total", "Parts of large values whose other parts never came.", ["topic"]
)
lag = Gauge("recrawl_lag", "Records of our partitions that are not committed yet.", ["topic"])
retries = Counter(
    "recrawl_retries_total", "Work tried again because the outside failed.", ["topic"]
)
in_flight = Gauge("recrawl_in_flight", "Records being worked on.", ["topic"])
handle_seconds = Histogram(
    "recrawl_handle_seconds", "From taking a record to its last effect.", ["topic"]
)
table_entries = Gauge("recrawl_table_entries", "Keys kept of a compacted topic.", ["topic"])
table_left_out = Counter(
    "recrawl_table_left_out_total",
    "Records of a compacted topic that were not kept.",
    ["topic", "reason"],
)

urls_admitted = Counter("recrawl_urls_admitted_total", "URLs that passed the frontier.")
urls_refused = Counter("recrawl_urls_refused_total", "URLs the frontier refused.", ["reason"])
urls_repeated = Counter(
    "recrawl_urls_repeated_total", "Links left out because they had passed the frontier lately."
)
urls_merged = Counter(
    "recrawl_urls_merged_total",
    "Links whose identity a rule beyond the standard changed.",
    ["rule"],
)
urls_mapped = Counter(
    "recrawl_urls_mapped_total",
    "Links and seeds that were taken for URLs of the host that their host moved to.",
)
links_cut = Counter("recrawl_links_cut_total", "Links of a page that were not taken.", ["reason"])

fetches = Counter("recrawl_fetches_total", "Fetches finished.", ["outcome", "reason"])
fetch_seconds = Histogram("recrawl_fetch_seconds", "Duration of a fetch.", ["outcome"])
fetched_bytes = Counter("recrawl_fetched_bytes_total", "Octets of bodies, decoded.")
robots_fetches = Counter("recrawl_robots_fetches_total", "robots.txt reads.", ["result"])
requests_expired = Counter(
    "recrawl_requests_expired_total", "Requests dropped because their lease was over."
)
requests_forwarded = Counter(
    "recrawl_requests_forwarded_total",
    "Requests sent on to the fetcher that serves the host's IP address.",
)
fetch_waiting = Gauge("recrawl_fetch_waiting", "Requests waiting for their host's turn.")
fetch_slots_busy = Gauge("recrawl_fetch_slots_busy", "Downloads under way.")
fetch_oldest_seconds = Gauge(
    "recrawl_fetch_oldest_seconds", "Age of the download that has been under way longest."
)
pages_rendered = Counter("recrawl_pages_rendered_total", "Pages given to the browser.", ["result"])
page_parts = Counter(
    "recrawl_page_parts_total",
    "What pages in the browser asked for: fetched, or why not.",
    ["result"],
)

pages_parsed = Counter("recrawl_pages_parsed_total", "Pages read.", ["verdict"])
parse_failures = Counter("recrawl_parse_failures_total", "Parses that failed.", ["reason"])

urls_known = Gauge("recrawl_urls_known", "URLs in the scheduler's tables.", ["partition"])
urls_waiting = Gauge("recrawl_urls_waiting", "Never-fetched URLs waiting.", ["partition"])
urls_in_flight = Gauge("recrawl_urls_in_flight", "Requests handed out.", ["partition"])
recrawl_lag_seconds = Gauge(
    "recrawl_recrawl_lag_seconds", "How late recrawls are handed out.", ["partition"]
)
recrawls_planned = Gauge(
    "recrawl_recrawls_planned_per_day", "Recrawls that are planned.", ["partition"]
)
recrawl_price = Gauge(
    "recrawl_recrawl_price_seconds", "Staleness that a recrawl must take away (docs/policies.md)."
)
hosts_quarantined = Gauge(
    "recrawl_hosts_quarantined",
    "Hosts that do not answer and are only asked by probes.",
    ["partition"],
)
intake_stopped = Gauge(
    "recrawl_intake_stopped",
    "1 while the scheduler takes no new URLs because too many wait (`max_waiting`).",
)
records_held = Gauge(
    "recrawl_records_held", "Records of new URLs in memory that wait until they are taken."
)
leases_expired = Counter("recrawl_leases_expired_total", "Requests never reported back.")
emitted = Counter("recrawl_emitted_total", "Fetch requests emitted.", ["reason"])
events_without_effect = Counter(
    "recrawl_events_without_effect_total",
    "Known URLs, deleted ones, URLs of a full host, repeated, late or unknown reports.",
    ["reason"],
)
cassandra_seconds = Histogram("recrawl_cassandra_seconds", "Cassandra requests.", ["statement"])
cassandra_errors = Counter(
    "recrawl_cassandra_errors_total", "Cassandra requests that failed.", ["kind"]
)
