"""The daemon's client, whose requests a stop interrupts: in a thread, where no signal would end the wait for an answer.

That holds for a daemon at a Unix socket or at a plain TCP address. With TLS or SSH a stop waits for the answer.
"""

from __future__ import annotations

import socket
from typing import Any

import docker
from docker.transport import unixconn
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from environments.docker.transport.sockets import InterruptibleSocket


class _UnixConnection(unixconn.UnixHTTPConnection):
    def connect(self) -> None:
        super().connect()
        assert self.sock is not None
        self.sock = InterruptibleSocket.of(self.sock)


class _UnixPool(unixconn.UnixHTTPConnectionPool):
    def _new_conn(self) -> Any:
        timeout_s: Any = self.timeout
        return _UnixConnection(self.base_url, self.socket_path, timeout_s)


class _UnixAdapter(unixconn.UnixHTTPAdapter):
    def get_connection(self, url: Any, proxies: Any = None) -> _UnixPool:
        with self.pools.lock:
            pool: _UnixPool | None = self.pools.get(url)
            if pool is None:
                pool = _UnixPool(url, self.socket_path, self.timeout, maxsize=self.max_pool_size)
                self.pools[url] = pool
        return pool


class _TcpConnection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return InterruptibleSocket.of(super()._new_conn())


class _TcpPool(HTTPConnectionPool):
    ConnectionCls = _TcpConnection


class InterruptibleClient(docker.APIClient):
    """A client of a daemon. Raises: docker.errors.DockerException."""

    def mount(self, prefix: str | bytes, adapter: Any) -> None:
        """Use an adapter for addresses with this prefix, in its interruptible form if there is one."""
        if isinstance(adapter, unixconn.UnixHTTPAdapter):
            path, timeout_s = adapter.socket_path, adapter.timeout
            adapter = _UnixAdapter(path, timeout_s, max_pool_size=adapter.max_pool_size)
        elif prefix == "http://":
            adapter.poolmanager.pool_classes_by_scheme = {
                **adapter.poolmanager.pool_classes_by_scheme,
                "http": _TcpPool,
            }
        super().mount(prefix, adapter)
