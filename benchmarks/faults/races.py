"""x"""

TARGET = 1
