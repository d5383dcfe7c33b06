"""Genlock loads AR/VR recordings for training."""
