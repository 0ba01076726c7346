#!/bin/bash
count >total.txt
cp extra.in extra.out
