#!/bin/bash
set -e
cp spans.py executable
chmod +x executable
