"""Connections to the servers by redis-py, with its own defaults. What a default
says in seconds is scaled as the scenario is."""

from redis import Redis, RedisCluster
from redis._defaults import (
    DEFAULT_RETRY_BASE,
    DEFAULT_RETRY_CAP,
    DEFAULT_RETRY_COUNT,
    DEFAULT_SOCKET_CONNECT_TIMEOUT,
    DEFAULT_SOCKET_TIMEOUT,
)
from redis.backoff import ExponentialWithJitterBackoff
from redis.cluster import ClusterNode
from redis.retry import Retry
from redis.sentinel import Sentinel


def connect(access, scale, primaries=1, socket_timeout=DEFAULT_SOCKET_TIMEOUT):
    """Returns clients of the first primaries, connected, and a function that
    closes all their connections."""
    timeouts = {
        "socket_timeout": socket_timeout * scale,
        "socket_connect_timeout": DEFAULT_SOCKET_CONNECT_TIMEOUT * scale,
    }
    clients, others = _clients(access, scale, primaries, timeouts)
    for client in clients:
        client.ping()

    def close():
        for c in [*clients, *others]:
            c.close()

    return clients, close


def _clients(access, scale, primaries, timeouts):
    """Returns the clients, and what else has connections for them."""
    addresses = {_address(a): _address(to) for a, to in access.get("map", {}).items()}

    def mapped(address):
        return addresses.get(tuple(address), tuple(address))

    if access.get("cluster"):
        nodes = [ClusterNode(*_address(a)) for a in access["primaries"]]
        client = RedisCluster(
            startup_nodes=nodes, address_remap=mapped, retry=_retry(scale), **timeouts
        )
        _map_redirections(client.nodes_manager, mapped)
        return [client], []
    if access.get("sentinels"):
        sentinels = _MappedSentinel(
            [_address(a) for a in access["sentinels"]],
            sentinel_kwargs={"retry": _retry(scale), **timeouts},
            **timeouts,
        )
        sentinels.mapped = mapped
        # master_for gives its connections no retry, as Redis() does.
        return [sentinels.master_for(name) for name in access["masters"][:primaries]], [sentinels]
    addresses = [_address(a) for a in access["primaries"][:primaries]]
    return [Redis(host, port, retry=_retry(scale), **timeouts) for host, port in addresses], []


def _retry(scale):
    backoff = ExponentialWithJitterBackoff(
        base=DEFAULT_RETRY_BASE * scale, cap=DEFAULT_RETRY_CAP * scale
    )
    return Retry(backoff, DEFAULT_RETRY_COUNT)


class _MappedSentinel(Sentinel):
    """Says where to connect for a master, and not what Sentinels call it."""

    def discover_master(self, service_name):
        return self.mapped(super().discover_master(service_name))


def _map_redirections(nodes, mapped):
    """Makes a client follow MOVED over the map as well: its address_remap is
    for the map of the slots only."""
    move, initialize = nodes.move_slot, nodes.initialize

    def move_slot(e):
        e.host, e.port = mapped((e.host, e.port))
        return move(e)

    def reinitialize(*args, additional_startup_nodes_info=None, **kwargs):
        more = [mapped(a) for a in additional_startup_nodes_info or []]
        return initialize(*args, additional_startup_nodes_info=more, **kwargs)

    nodes.move_slot, nodes.initialize = move_slot, reinitialize


def _address(text):
    host, _, port = text.rpartition(":")
    return host, int(port)
