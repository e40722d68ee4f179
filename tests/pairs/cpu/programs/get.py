"""get.py URL COUNT [gzip]: a client that fetches a page COUNT times over one connection."""
import http.client
import sys
import time
import urllib.parse

url = urllib.parse.urlsplit(sys.argv[1])
headers = {"Accept-Encoding": "gzip"} if sys.argv[3:] else {}
for _ in range(300):
    try:
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        connection.connect()
        break
    except OSError:
        time.sleep(0.1)
for _ in range(int(sys.argv[2])):
    connection.request("GET", url.path, headers=headers)
    response = connection.getresponse()
    if response.status != 200 or not response.read():
        sys.exit(1)
