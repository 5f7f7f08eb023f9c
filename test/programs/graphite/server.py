"""Debian's graphite-web on a free port of 127.0.0.1, with the series that standard input gives: {"a.b": [[seconds, value], ...]} as JSON."""
import json
import os
import sys
from wsgiref.simple_server import make_server

folder = sys.argv[1]
sys.path.insert(0, folder)
with open(os.path.join(folder, "settings_of_test.py"), "w") as settings:
    settings.write(
        f"""from graphite.settings import *
STORAGE_DIR = LOG_DIR = {folder!r}
WHISPER_DIR = {folder!r} + "/whisper"
STANDARD_DIRS = [WHISPER_DIR]
INDEX_FILE = {folder!r} + "/index"
SECRET_KEY = "of a test"
ALLOWED_HOSTS = ["*"]
"""
    )
os.environ["DJANGO_SETTINGS_MODULE"] = "settings_of_test"

import whisper
from django.core.wsgi import get_wsgi_application

for name, points in json.load(sys.stdin).items():
    path = os.path.join(folder, "whisper", *name.split(".")) + ".wsp"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    whisper.create(path, [(10, 600)])
    whisper.update_many(path, [tuple(point) for point in points])

server = make_server("127.0.0.1", 0, get_wsgi_application())
print(f"listens on {server.server_port}", flush=True)
server.serve_forever()
