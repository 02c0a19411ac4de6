import socket

from services.local.ports import choose_ports


def listener() -> socket.socket:
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java does
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    return taken


def test_a_free_port_is_taken_as_wanted() -> None:
    with listener() as once:
        port = once.getsockname()[1]
    assert choose_ports([port]) == [port]


def test_a_taken_port_is_replaced_by_a_free_one() -> None:
    with listener() as taken:
        port = taken.getsockname()[1]
        (chosen,) = choose_ports([port])
    assert chosen not in {0, port}


def test_a_port_with_connections_still_waiting_to_end_counts_as_free() -> None:
    with listener() as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            server.accept()[0].close()  # closed first on this side: TIME_WAIT here
    assert choose_ports([port]) == [port]


def test_ports_chosen_together_all_differ() -> None:
    with listener() as once:
        port = once.getsockname()[1]
    chosen = choose_ports([port, port, 0, 0])
    assert chosen[0] == port
    assert len(set(chosen)) == 4
