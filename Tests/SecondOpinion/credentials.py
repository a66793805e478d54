"""Keys, certificates and Google's token endpoint, made by programs of others."""

import http.server
import json
import threading
import urllib.parse
from datetime import datetime, timedelta, timezone

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

PROJECT = "second-opinion"
KEY_ID = "ABC1234567"
TEAM_ID = "DEF1234567"


def pem(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def server_certificate(folder):
    """A certificate for localhost that signs itself; gives the paths of it and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(timezone.utc)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256()))
    (folder / "server.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "server.key").write_bytes(pem(key))
    return folder / "server.pem", folder / "server.key"


def apns_key(folder):
    """A `.p8` file as Apple gives it out; gives its path and the public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    path = folder / f"AuthKey_{KEY_ID}.p8"
    path.write_bytes(pem(key))
    path.chmod(0o600)
    return path, key.public_key()


class TokenEndpoint:
    """Google's token endpoint on loopback: checks the signed assertion with PyJWT. Used with `with`."""

    def __init__(self, folder):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.assertions = []
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                code, answer = endpoint.answer(form)
                body = json.dumps(answer).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/token"
        self.account = folder / "service-account.json"
        self.account.write_text(json.dumps({
            "type": "service_account", "project_id": PROJECT, "private_key_id": "key-1", "private_key": pem(self.key).decode(),
            "client_email": f"push@{PROJECT}.example", "client_id": "1", "token_uri": self.url}), encoding="utf-8")
        self.account.chmod(0o600)

    def answer(self, form):
        try:
            claims = jwt.decode(form["assertion"][0], self.key.public_key(), algorithms=["RS256"], audience=self.url)
            good = (form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
                    and claims["iss"] == f"push@{PROJECT}.example" and 0 < claims["exp"] - claims["iat"] <= 3600
                    and claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging")
        except (KeyError, jwt.PyJWTError) as error:
            return 400, {"error": "invalid_grant", "error_description": str(error)}
        if not good:
            return 400, {"error": "invalid_grant", "error_description": "claims"}
        self.assertions.append(claims)
        return 200, {"access_token": "token-of-the-endpoint", "expires_in": 3599, "token_type": "Bearer"}

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
