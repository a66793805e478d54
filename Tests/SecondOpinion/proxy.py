"""A small HTTP proxy that makes tunnels (CONNECT). Every host leads to this machine; what is asked is printed.

    proxy.py [USER:PASSWORD]
"""

import base64
import socketserver
import socket
import sys
import threading


def carry(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    finally:
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Tunnel(socketserver.StreamRequestHandler):
    rbufsize = 0

    def handle(self):
        line = self.rfile.readline().decode()
        headers = {}
        while (header := self.rfile.readline().decode().strip()):
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        print(line.strip(), flush=True)
        wanted = self.server.authorization
        if wanted and headers.get("proxy-authorization") != wanted:
            self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        method, target, _ = line.split()
        if method != "CONNECT":
            self.wfile.write(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", int(target.rpartition(":")[2]))) as server:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=carry, args=(server, self.connection), daemon=True)
            back.start()
            carry(self.connection, server)
            back.join()


class Proxy(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    authorization = None


if __name__ == "__main__":
    with Proxy(("127.0.0.1", 0), Tunnel) as proxy:
        if len(sys.argv) > 1:
            proxy.authorization = "Basic " + base64.b64encode(sys.argv[1].encode()).decode()
        print(f"port {proxy.server_address[1]}", flush=True)
        proxy.serve_forever()
